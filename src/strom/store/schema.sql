-- The tables of the contract. Every statement can be repeated; every write is an upsert by primary key.
-- Times are timestamptz in UTC; energies are Wh with three decimals.

CREATE TABLE IF NOT EXISTS meters (
    meter        text PRIMARY KEY,
    meter_number text,
    interval_s   double precision,           -- push interval as observed
    first_seen   timestamptz NOT NULL,
    area         text,                       -- master data, set by people
    tariff       text,
    contract     text
);

CREATE TABLE IF NOT EXISTS readings_latest (
    meter        text PRIMARY KEY,
    at           timestamptz NOT NULL,
    received     timestamptz NOT NULL,
    import_w     double precision,
    export_w     double precision,
    import_wh    numeric(18, 3),
    export_wh    numeric(18, 3),
    reading      jsonb NOT NULL              -- the whole reading as in the topic
);

CREATE TABLE IF NOT EXISTS load_profile (
    meter        text NOT NULL,
    start        timestamptz NOT NULL,
    import_wh    numeric(30, 3),
    export_wh    numeric(30, 3),
    quality      text NOT NULL CHECK (quality IN ('measured', 'calculated', 'substitute', 'missing')),
    samples      integer NOT NULL,
    expected     integer,
    version      integer NOT NULL DEFAULT 1,
    flags        text[] NOT NULL DEFAULT '{}',   -- import-reset, import-jump, export-reset, export-jump
    import_quality text,
    export_quality text,
    import_samples integer,                  -- accepted readings of the direction; `samples` is the larger of the two
    export_samples integer,
    PRIMARY KEY (meter, start)
);
CREATE INDEX IF NOT EXISTS load_profile_start ON load_profile (start);

CREATE TABLE IF NOT EXISTS gaps (
    meter        text NOT NULL,
    start        timestamptz NOT NULL,
    "end"        timestamptz NOT NULL,
    import_wh    numeric(30, 3),             -- null where the direction has no gap between just these borders
    export_wh    numeric(30, 3),
    PRIMARY KEY (meter, start, "end")
);

CREATE TABLE IF NOT EXISTS alerts (
    id           text PRIMARY KEY,               -- deterministic: the same event has the same id
    meter        text NOT NULL,
    kind         text NOT NULL,
    severe       boolean NOT NULL DEFAULT false,
    started      timestamptz NOT NULL,
    ended        timestamptz,                    -- null while open
    value        double precision,
    threshold    double precision,
    text         text NOT NULL,                  -- one sentence for a householder
    part         text NOT NULL DEFAULT ''        -- which phase (l1, l2, l3) or direction (import, export) it is about
);
CREATE INDEX IF NOT EXISTS alerts_open ON alerts (meter) WHERE ended IS NULL;
CREATE INDEX IF NOT EXISTS alerts_about ON alerts (meter, kind, part, started);

-- What the pipeline remembers between micro-batches. Times are epoch milliseconds, energies mWh: whole numbers.

CREATE TABLE IF NOT EXISTS pipeline_marks (      -- how far each raw partition has been taken in
    job            text NOT NULL,
    topic          text NOT NULL,
    raw_partition  integer NOT NULL,
    partition      integer NOT NULL,             -- of the readings topic
    raw_offset     bigint NOT NULL,
    received       bigint NOT NULL,
    PRIMARY KEY (job, topic, raw_partition, partition)
);

CREATE TABLE IF NOT EXISTS meter_states (
    meter          text PRIMARY KEY,
    newest         bigint NOT NULL,              -- the latest `at`
    received       bigint NOT NULL,              -- the latest `received`
    interval_s     integer,                      -- push interval that most steps had
    votes          integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS profile_series (
    meter          text NOT NULL,
    direction      text NOT NULL,
    measure        text NOT NULL,                -- counter or power
    seen           bigint NOT NULL,              -- the latest reading taken into the series
    pending        bigint[] NOT NULL,            -- time, value, time, value: readings that wait for those after them
    tail           bigint NOT NULL,              -- the slot of the last settled segment
    PRIMARY KEY (meter, direction)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS profile_segments (
    meter          text NOT NULL,
    direction      text NOT NULL,
    slot           bigint NOT NULL,
    first_t        bigint NOT NULL,
    last_t         bigint NOT NULL,
    last_v         bigint NOT NULL,
    total          numeric(38, 0) NOT NULL,
    inner_energy   numeric(38, 0) NOT NULL,
    samples        integer NOT NULL,
    start_border   text NOT NULL,
    start_mwh      numeric(38, 0),
    run_start      bigint,
    run_mwh        numeric(38, 0),
    reset          boolean NOT NULL,
    jump           boolean NOT NULL,
    trail          bigint[] NOT NULL,
    streak         integer NOT NULL,
    fall_t         bigint,
    PRIMARY KEY (meter, direction, slot)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS voltage_windows (     -- ten-minute sums: those in progress and those out of bounds
    meter          text NOT NULL,
    start          bigint NOT NULL,
    mv             bigint[] NOT NULL,            -- sum per phase
    samples        integer[] NOT NULL,           -- readings per phase
    PRIMARY KEY (meter, start)
) WITH (fillfactor = 70);

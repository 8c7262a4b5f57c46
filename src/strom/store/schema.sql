-- The tables of the contract. Every statement can be repeated; every write is an upsert by primary key.
-- Times are timestamptz in UTC; energies are Wh with three decimals.
-- Tables that are PARTITION BY RANGE have a partition a month, which partitions.py makes.

CREATE TABLE IF NOT EXISTS meters (
    meter        text PRIMARY KEY,
    meter_number text,
    interval_s   double precision,           -- push interval as observed
    first_seen   timestamptz,                -- null until something came from it
    area         text,                       -- master data, set by people
    tariff       text,
    contract     text,
    number_at    timestamptz                 -- the time of the reading that told meter_number
);
ALTER TABLE meters ADD COLUMN IF NOT EXISTS number_at timestamptz;

-- People may enter a meter before it is heard; tables made before that demanded a first reading.
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'meters'::regclass AND attname = 'first_seen' AND attnotnull) THEN
        ALTER TABLE meters ALTER COLUMN first_seen DROP NOT NULL;
    END IF;
END $$;

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
) PARTITION BY RANGE (start);
-- For days of the whole fleet. A tree would do, too, but Postgres would at times take it for look-ups of a meter.
CREATE INDEX IF NOT EXISTS load_profile_start ON load_profile USING brin (start) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX IF NOT EXISTS load_profile_exporting ON load_profile (meter, start) WHERE export_wh > 0;

CREATE TABLE IF NOT EXISTS slot_statistics (     -- thousandths of W and V: import, export, L1, L2, L3
    meter        text NOT NULL,
    start        timestamptz NOT NULL,
    totals       numeric[] NOT NULL,
    counts       integer[] NOT NULL,
    lows         bigint[] NOT NULL,
    highs        bigint[] NOT NULL,
    PRIMARY KEY (meter, start)
) PARTITION BY RANGE (start);

-- Quarter-hours with power and voltages: the least, the mean and the largest of the readings in them.
CREATE OR REPLACE VIEW quarter_hours AS SELECT
    p.meter, p.start, p.import_wh, p.export_wh, p.quality, p.samples, p.expected, p.version, p.flags,
    s.lows[1] / 1000.0 AS import_w_min, round(s.totals[1] / nullif(s.counts[1], 0) / 1000, 3) AS import_w_mean, s.highs[1] / 1000.0 AS import_w_max,
    s.lows[2] / 1000.0 AS export_w_min, round(s.totals[2] / nullif(s.counts[2], 0) / 1000, 3) AS export_w_mean, s.highs[2] / 1000.0 AS export_w_max,
    s.lows[3] / 1000.0 AS voltage_l1_v_min, round(s.totals[3] / nullif(s.counts[3], 0) / 1000, 3) AS voltage_l1_v_mean, s.highs[3] / 1000.0 AS voltage_l1_v_max,
    s.lows[4] / 1000.0 AS voltage_l2_v_min, round(s.totals[4] / nullif(s.counts[4], 0) / 1000, 3) AS voltage_l2_v_mean, s.highs[4] / 1000.0 AS voltage_l2_v_max,
    s.lows[5] / 1000.0 AS voltage_l3_v_min, round(s.totals[5] / nullif(s.counts[5], 0) / 1000, 3) AS voltage_l3_v_mean, s.highs[5] / 1000.0 AS voltage_l3_v_max
FROM load_profile p LEFT JOIN slot_statistics s ON s.meter = p.meter AND s.start = p.start;

-- When the first local hour, day, week, month or year begins that does not begin before a moment.
CREATE OR REPLACE FUNCTION first_period(unit text, moment timestamptz, zone text)
RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN unit = 'hour' THEN date_trunc(unit, moment - interval '1 microsecond', zone) + interval '1 hour'
        ELSE (date_trunc(unit, moment - interval '1 microsecond', zone) AT TIME ZONE zone + ('1 ' || unit)::interval) AT TIME ZONE zone END
$$;

-- Sums by local hour, day, week, month or year: SELECT * FROM energy_sums('day') WHERE meter = 'haus-21'.
-- `slots` of `of_slots` quarter-hours have energy; `quality` is the worst of those that are there.
-- `…_between` gives the periods that begin in a span, and reads only its months.
CREATE OR REPLACE FUNCTION energy_sums_between(unit text, zone text, since timestamptz, until timestamptz)
RETURNS TABLE (meter text, start timestamptz, import_wh numeric, export_wh numeric, slots bigint, of_slots bigint, quality text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p.meter, date_trunc(unit, p.start, zone), sum(p.import_wh), sum(p.export_wh),
           count(*) FILTER (WHERE p.quality <> 'missing'),
           CASE WHEN unit = 'hour' THEN 4 ELSE (extract(epoch FROM
               (date_trunc(unit, p.start, zone) AT TIME ZONE zone + ('1 ' || unit)::interval) AT TIME ZONE zone
               - date_trunc(unit, p.start, zone)) / 900)::bigint END,
           (ARRAY['measured', 'calculated', 'substitute', 'missing'])[max(
               array_position(ARRAY['measured', 'calculated', 'substitute', 'missing'], p.quality))]
    FROM load_profile p
    WHERE p.start >= first_period(unit, since, zone) AND p.start < first_period(unit, until, zone)
    GROUP BY p.meter, date_trunc(unit, p.start, zone)
$$;

CREATE OR REPLACE FUNCTION energy_sums(unit text, zone text DEFAULT 'Europe/Vienna')
RETURNS TABLE (meter text, start timestamptz, import_wh numeric, export_wh numeric, slots bigint, of_slots bigint, quality text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM energy_sums_between(unit, zone, '-infinity', 'infinity')
$$;

CREATE TABLE IF NOT EXISTS gaps (
    meter        text NOT NULL,
    start        timestamptz NOT NULL,
    "end"        timestamptz NOT NULL,
    import_wh    numeric(30, 3),             -- null where the direction has no gap between just these borders
    export_wh    numeric(30, 3),
    PRIMARY KEY (meter, start, "end")
);

-- The same of each tariff that a meter counts (registers 1.8.1 to 1.8.4, 2.8.1 to 2.8.4). Most meters have none.

CREATE TABLE IF NOT EXISTS tariff_profile (
    meter        text NOT NULL,
    tariff       smallint NOT NULL,              -- 1 to 4
    start        timestamptz NOT NULL,
    import_wh    numeric(30, 3),
    export_wh    numeric(30, 3),
    quality      text NOT NULL CHECK (quality IN ('measured', 'calculated', 'substitute', 'missing')),
    samples      integer NOT NULL,
    expected     integer,
    version      integer NOT NULL DEFAULT 1,
    flags        text[] NOT NULL DEFAULT '{}',
    import_quality text,
    export_quality text,
    import_samples integer,
    export_samples integer,
    PRIMARY KEY (meter, tariff, start)
) PARTITION BY RANGE (start);

CREATE TABLE IF NOT EXISTS tariff_gaps (
    meter        text NOT NULL,
    tariff       smallint NOT NULL,
    start        timestamptz NOT NULL,
    "end"        timestamptz NOT NULL,
    import_wh    numeric(30, 3),
    export_wh    numeric(30, 3),
    PRIMARY KEY (meter, tariff, start, "end")
);

-- Sums of the tariffs, as energy_sums: SELECT * FROM tariff_sums('month') WHERE meter = 'haus-21'.
CREATE OR REPLACE FUNCTION tariff_sums_between(unit text, zone text, since timestamptz, until timestamptz)
RETURNS TABLE (meter text, tariff smallint, start timestamptz, import_wh numeric, export_wh numeric, slots bigint, of_slots bigint, quality text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p.meter, p.tariff, date_trunc(unit, p.start, zone), sum(p.import_wh), sum(p.export_wh),
           count(*) FILTER (WHERE p.quality <> 'missing'),
           CASE WHEN unit = 'hour' THEN 4 ELSE (extract(epoch FROM
               (date_trunc(unit, p.start, zone) AT TIME ZONE zone + ('1 ' || unit)::interval) AT TIME ZONE zone
               - date_trunc(unit, p.start, zone)) / 900)::bigint END,
           (ARRAY['measured', 'calculated', 'substitute', 'missing'])[max(
               array_position(ARRAY['measured', 'calculated', 'substitute', 'missing'], p.quality))]
    FROM tariff_profile p
    WHERE p.start >= first_period(unit, since, zone) AND p.start < first_period(unit, until, zone)
    GROUP BY p.meter, p.tariff, date_trunc(unit, p.start, zone)
$$;

CREATE OR REPLACE FUNCTION tariff_sums(unit text, zone text DEFAULT 'Europe/Vienna')
RETURNS TABLE (meter text, tariff smallint, start timestamptz, import_wh numeric, export_wh numeric, slots bigint, of_slots bigint, quality text)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT * FROM tariff_sums_between(unit, zone, '-infinity', 'infinity')
$$;

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
CREATE INDEX IF NOT EXISTS alerts_ended ON alerts (ended);  -- the page asks what ended lately

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

CREATE TABLE IF NOT EXISTS lake_positions (      -- how far each pass over the lake's readings is
    pass           text PRIMARY KEY,             -- arrivals or settlement
    version        bigint NOT NULL,              -- readings of later versions of the lake are not taken in yet
    settled        bigint NOT NULL               -- readings with `at` before it are settled, those from it on wait for their time
);
ALTER TABLE lake_positions
    ADD COLUMN IF NOT EXISTS next_version bigint,              -- where the step under way leads; null between two steps
    ADD COLUMN IF NOT EXISTS next_settled bigint,
    ADD COLUMN IF NOT EXISTS shards integer,                   -- how many it is divided into
    ADD COLUMN IF NOT EXISTS epoch bigint NOT NULL DEFAULT 0;  -- grows with each attempt; only the newest one may write

-- While it was developed the table had other columns. It is only about the step under way, which begins again.
DO $$ BEGIN
    IF to_regclass('lake_shards') IS NOT NULL AND (SELECT count(*) FROM pg_attribute
        WHERE attrelid = to_regclass('lake_shards') AND attname IN ('epoch', 'turn') AND NOT attisdropped) < 2 THEN
        DROP TABLE lake_shards;
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS lake_shards (         -- what of the step under way is written
    pass           text NOT NULL,
    shard          integer NOT NULL,
    epoch          bigint NOT NULL,              -- the attempt that has written it
    turn           integer NOT NULL,             -- -1: nothing, 0: all meters but those that wait, 1, 2, …: some of these
    PRIMARY KEY (pass, shard)
);

CREATE TABLE IF NOT EXISTS waiting_meters (      -- meters of the step under way that need more of the lake than the others
    pass           text NOT NULL,
    meter          text NOT NULL,
    need           text NOT NULL,                -- as JSON
    PRIMARY KEY (pass, meter)
);

CREATE TABLE IF NOT EXISTS settled_meters (      -- up to where a meter's readings are settled
    meter          text PRIMARY KEY,
    newest         bigint NOT NULL,              -- the latest settled `at`
    last           bigint                        -- a digest of the values at that time; null: not known
) WITH (fillfactor = 70);
ALTER TABLE settled_meters ADD COLUMN IF NOT EXISTS last bigint;

CREATE TABLE IF NOT EXISTS meter_states (
    meter          text PRIMARY KEY,
    newest         bigint NOT NULL,              -- the latest `at`
    received       bigint NOT NULL,              -- the latest `received`
    interval_s     integer,                      -- push interval that most steps had
    votes          integer NOT NULL DEFAULT 0,
    heard          bigint                        -- the latest `received`, none later than when it was taken in
) WITH (fillfactor = 70);
ALTER TABLE meter_states ADD COLUMN IF NOT EXISTS heard bigint;

CREATE TABLE IF NOT EXISTS profile_series (
    meter          text NOT NULL,
    direction      text NOT NULL,                -- import, export; of a tariff import_t1, export_t1 …
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
    jump_t         bigint,
    PRIMARY KEY (meter, direction, slot)
) PARTITION BY RANGE (slot);

CREATE TABLE IF NOT EXISTS voltage_windows (     -- ten-minute sums: those in progress and those out of bounds
    meter          text NOT NULL,
    start          bigint NOT NULL,
    mv             bigint[] NOT NULL,            -- sum per phase
    samples        integer[] NOT NULL,           -- readings per phase
    PRIMARY KEY (meter, start)
) WITH (fillfactor = 70);

CREATE TABLE IF NOT EXISTS late_readings (       -- too late for the quarter-hours: set aside, each once
    meter          text NOT NULL,
    at             timestamptz NOT NULL,
    received       timestamptz NOT NULL,
    origin         text NOT NULL,                -- the place of its raw record
    reading        jsonb NOT NULL,
    PRIMARY KEY (meter, at, received, origin)
);
CREATE INDEX IF NOT EXISTS late_readings_lag ON late_readings ((received - at));

CREATE TABLE IF NOT EXISTS pipeline_replays (    -- how far a replay into these tables is
    plan           text PRIMARY KEY,             -- what was asked for, with the rules it goes by
    source         text NOT NULL,
    lake_version   bigint,                       -- of the lake, up to which its readings are in
    position       text NOT NULL,                -- what is done: a time, or the last meter
    readings       bigint NOT NULL,
    whole          boolean NOT NULL,             -- all meters and all times
    complete       boolean NOT NULL,
    started        timestamptz NOT NULL DEFAULT now(),
    updated        timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS runs (                -- stretches of readings under a condition, also those too short for an alert
    meter          text NOT NULL,
    kind           text NOT NULL,
    part           text NOT NULL,
    start          bigint NOT NULL,
    last           bigint NOT NULL,              -- the last reading in it
    worst          bigint NOT NULL,              -- thousandths of W or V
    until          bigint,                       -- the reading that ended it; null while there is none
    PRIMARY KEY (meter, kind, part, start)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS runs_open ON runs (meter) WHERE until IS NULL;

CREATE TABLE IF NOT EXISTS clock_windows (       -- ten minutes of arrivals: those in progress and those with a wrong clock
    meter          text NOT NULL,
    start          bigint NOT NULL,
    first          bigint,                       -- first and last arrival of a reading with a time of its own
    last           bigint,
    least          bigint,                       -- the least and the largest arrival minus that time
    most           bigint,
    impossible     boolean NOT NULL,             -- a time came that cannot be
    PRIMARY KEY (meter, start)
) WITH (fillfactor = 70);
-- What is sent to people and programs outside: one row for each state of an alert at each outlet, told once.

CREATE TABLE IF NOT EXISTS alert_deliveries (
    outlet         text NOT NULL,
    alert          text NOT NULL,
    state          text NOT NULL CHECK (state IN ('opened', 'severe', 'ended', 'withdrawn')),
    seq            bigint GENERATED ALWAYS AS IDENTITY,
    meter          text NOT NULL,
    kind           text NOT NULL,
    part           text NOT NULL,
    severe         boolean NOT NULL,
    ended          bigint,                       -- epoch ms
    root           text,                         -- the state that began the same story, as alert.state; null for that itself
    body           json NOT NULL,                -- the alert as the topic told it
    status         text NOT NULL CHECK (status IN ('waiting', 'delivered', 'refused', 'quiet', 'given-up')),
    noted          timestamptz NOT NULL DEFAULT now(),
    due            timestamptz NOT NULL,         -- not before; later than `noted` in the quiet period
    done           timestamptz,                  -- null while it waits
    tries          integer NOT NULL DEFAULT 0,
    error          text,
    PRIMARY KEY (outlet, alert, state)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS alert_deliveries_waiting ON alert_deliveries (outlet, due, seq) WHERE status = 'waiting';
CREATE INDEX IF NOT EXISTS alert_deliveries_ends ON alert_deliveries (outlet, meter, kind, part, ended) WHERE state = 'ended';
CREATE INDEX IF NOT EXISTS alert_deliveries_done ON alert_deliveries (outlet, done);

CREATE TABLE IF NOT EXISTS alert_outlets (       -- what does not go when deliveries are forgotten
    outlet         text PRIMARY KEY,
    delivered      bigint NOT NULL DEFAULT 0,
    last_delivered timestamptz,
    error          text,                         -- the last one; null after a delivery
    error_at       timestamptz
);

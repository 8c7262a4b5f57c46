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
    import_wh    numeric(18, 3),
    export_wh    numeric(18, 3),
    quality      text NOT NULL CHECK (quality IN ('measured', 'calculated', 'substitute', 'missing')),
    samples      integer NOT NULL,
    expected     integer,
    version      integer NOT NULL DEFAULT 1,
    flags        text[] NOT NULL DEFAULT '{}',   -- import-reset, import-jump, export-reset, export-jump
    import_quality text,
    export_quality text,
    PRIMARY KEY (meter, start)
);
CREATE INDEX IF NOT EXISTS load_profile_start ON load_profile (start);

CREATE TABLE IF NOT EXISTS gaps (
    meter        text NOT NULL,
    start        timestamptz NOT NULL,
    "end"        timestamptz NOT NULL,
    import_wh    numeric(18, 3),
    export_wh    numeric(18, 3),
    PRIMARY KEY (meter, start)
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
    text         text NOT NULL                   -- one sentence for a householder
);
CREATE INDEX IF NOT EXISTS alerts_open ON alerts (meter) WHERE ended IS NULL;

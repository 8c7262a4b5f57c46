-- The tables as they were before they had partitions.

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

CREATE INDEX IF NOT EXISTS load_profile_exporting ON load_profile (meter, start) WHERE export_wh > 0;

CREATE TABLE IF NOT EXISTS slot_statistics (     -- thousandths of W and V: import, export, L1, L2, L3
    meter        text NOT NULL,
    start        timestamptz NOT NULL,
    totals       numeric[] NOT NULL,
    counts       integer[] NOT NULL,
    lows         bigint[] NOT NULL,
    highs        bigint[] NOT NULL,
    PRIMARY KEY (meter, start)
) WITH (fillfactor = 70);

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
);

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
) WITH (fillfactor = 70);

CREATE OR REPLACE VIEW quarter_hours AS SELECT
    p.meter, p.start, p.import_wh, p.export_wh, p.quality, p.samples, p.expected, p.version, p.flags,
    s.lows[1] / 1000.0 AS import_w_min, round(s.totals[1] / nullif(s.counts[1], 0) / 1000, 3) AS import_w_mean, s.highs[1] / 1000.0 AS import_w_max,
    s.lows[2] / 1000.0 AS export_w_min, round(s.totals[2] / nullif(s.counts[2], 0) / 1000, 3) AS export_w_mean, s.highs[2] / 1000.0 AS export_w_max,
    s.lows[3] / 1000.0 AS voltage_l1_v_min, round(s.totals[3] / nullif(s.counts[3], 0) / 1000, 3) AS voltage_l1_v_mean, s.highs[3] / 1000.0 AS voltage_l1_v_max,
    s.lows[4] / 1000.0 AS voltage_l2_v_min, round(s.totals[4] / nullif(s.counts[4], 0) / 1000, 3) AS voltage_l2_v_mean, s.highs[4] / 1000.0 AS voltage_l2_v_max,
    s.lows[5] / 1000.0 AS voltage_l3_v_min, round(s.totals[5] / nullif(s.counts[5], 0) / 1000, 3) AS voltage_l3_v_mean, s.highs[5] / 1000.0 AS voltage_l3_v_max
FROM load_profile p LEFT JOIN slot_statistics s ON s.meter = p.meter AND s.start = p.start;

-- The ten largest loads of every quarter-hour: each meter with its peak, told when the quarter-hour is over.
-- into: top-loads
-- late: 10m

SELECT
    date_format(quarter.start, "yyyy-MM-dd'T'HH:mm:ss'Z'") AS key,
    quarter.start AS start,
    slice(sort_array(collect_list(struct(peak_w, meter)), false), 1, 10) AS top
FROM (
    SELECT window(at, '15 minutes') AS quarter, meter, max(import_w) AS peak_w
    FROM readings
    WHERE import_w IS NOT NULL
    GROUP BY window(at, '15 minutes'), meter
)
GROUP BY quarter

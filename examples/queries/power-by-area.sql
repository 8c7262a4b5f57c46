-- The mean power of the meters of each area in every quarter-hour, told once when it is over.
-- Areas are what `strom meters set` and `strom meters import` entered.
-- into: power-by-area
-- late: 10m

SELECT
    concat(coalesce(m.area, 'unknown'), ' ', date_format(window.start, "yyyy-MM-dd'T'HH:mm:ss'Z'")) AS key,
    coalesce(m.area, 'unknown') AS area,
    window.start AS start,
    round(avg(r.import_w), 1) AS import_w,
    round(avg(r.export_w), 1) AS export_w,
    approx_count_distinct(r.meter) AS meters,
    count(*) AS readings
FROM readings r
LEFT JOIN meters m ON m.meter = r.meter
GROUP BY window(r.at, '15 minutes'), coalesce(m.area, 'unknown')

-- Every reading with a phase outside 207–253 V, with what is known of its meter, at once.
-- A single reading is a momentary value: an alert of Strom judges ten minutes.
-- into: voltage-out-of-band

SELECT
    r.meter AS key,
    r.meter,
    m.area,
    m.contract,
    r.at,
    r.voltage_l1_v,
    r.voltage_l2_v,
    r.voltage_l3_v
FROM readings r
LEFT JOIN meters m ON m.meter = r.meter
WHERE least(r.voltage_l1_v, r.voltage_l2_v, r.voltage_l3_v) < 207
   OR greatest(r.voltage_l1_v, r.voltage_l2_v, r.voltage_l3_v) > 253

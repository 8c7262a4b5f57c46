"""The names of the dialects that meters speak, as they stand in the header `strom-dialect` and in the settings.

What each of them means is in `devices`, one file a dialect.
"""

ADAPTER_JSON = "adapter_json"  # what a message speaks that no rule names
DSMR_P1 = "dsmr_p1"
TASMOTA_SML = "tasmota_sml"
SHELLY_3EM = "shelly_3em"

NAMES = (ADAPTER_JSON, DSMR_P1, TASMOTA_SML, SHELLY_3EM)

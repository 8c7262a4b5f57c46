"""What a box tells about itself, in the shape of the real one's status. It knows no interface."""

from strom.devices.box.pushes import Pushes

FIRMWARE = "1.3.0"
_WIFI_RSSI = -61  # dBm; a simulated box has good reception


def status_of(pushes: Pushes) -> dict[str, object]:
    packages, adapter = pushes.packages(), pushes.adapter
    return {
        "sma_status": "OK" if pushes.last() is not None else "NO DATA",
        "sma_time": round(pushes.uptime_s, 2),
        "name": adapter.name,
        "fw_version": FIRMWARE,
        "meter": {
            "supplier": "Strom",
            "manufacturer": "simulated",
            "interface": "M-Bus",
            "name": adapter.dialect.name,
        },
        "meter_valid_package_cnt": packages.valid,
        "meter_invalid_package_cnt": packages.invalid,
        "wifi": {"ssid": "simulated", "rssi": _WIFI_RSSI},
    }

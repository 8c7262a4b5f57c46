"""The doors out: alerts to webhooks, MQTT and e-mail. Knows how to send, not when something is an alert."""

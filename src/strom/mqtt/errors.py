"""What can end an MQTT connection; the words are for a log line or a sentence to a person."""


class MqttError(Exception):
    """The connection is lost or was never made; its text says why."""


class ConnectRefusedError(MqttError):
    """The broker answered the CONNECT with a no; `permanent` tells whether asking again makes sense."""

    def __init__(self, text: str, *, permanent: bool) -> None:
        super().__init__(text)
        self.permanent = permanent


class SessionTakenOverError(MqttError):
    """Another client connected with the same client id."""

"""The door that asks: adapters are polled by REST or Modbus, and each new push goes to Kafka."""

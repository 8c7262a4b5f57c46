"""SQL over readings, tables and topics: once over what is there, or live; knows nothing of the terminal."""

"""From the lake's readings to the tables and topics: one pass over what arrived, one over what is settled."""

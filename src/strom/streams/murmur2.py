"""The hash by which Kafka's own clients choose a key's partition: MurmurHash2 with Kafka's seed.

It must stay bit for bit what `org.apache.kafka.common.utils.Utils.murmur2` is: it decides where a meter's past lies.
"""

_SEED = 0x9747B28C
_MIX = 0x5BD1E995
_ALL = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """As an unsigned number; Java shows the same bits as a signed one."""
    length = len(data)
    mixed = _SEED ^ length
    whole = length & ~3
    for start in range(0, whole, 4):
        block = int.from_bytes(data[start : start + 4], "little") * _MIX & _ALL
        mixed = mixed * _MIX & _ALL ^ ((block ^ block >> 24) * _MIX & _ALL)
    if whole < length:
        mixed = (mixed ^ int.from_bytes(data[whole:], "little")) * _MIX & _ALL
    mixed = (mixed ^ mixed >> 13) * _MIX & _ALL
    return mixed ^ mixed >> 15


def key_hash(key: bytes) -> int:
    """Modulo the number of partitions, this is where Kafka's clients put a record with this key."""
    return murmur2(key) & 0x7FFFFFFF

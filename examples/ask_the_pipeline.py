"""Asks the running pipeline by Spark Connect, as a notebook would: python examples/ask_the_pipeline.py [HOME]

Needs no Strom, only: pip install 'pyspark[connect]==4.2.0' 'pandas<3'
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

home = Path(sys.argv[1] if len(sys.argv) > 1 else ".strom")
# Where the pipeline answers, with its token: written anew at each start, for your eyes only.
url = (home / "run" / "connect.url").read_text().strip()
spark = SparkSession.builder.remote(url).getOrCreate()

answer = spark.sql("""
    SELECT meter, count(*) AS readings, max(import_w) AS peak_w
    FROM global_temp.readings
    GROUP BY meter
    ORDER BY peak_w DESC, meter
""")
print(answer.toPandas().to_string(index=False))
spark.stop()

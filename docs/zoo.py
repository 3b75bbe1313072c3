"""Write docs/_data/zoo.csv, which the pages of policies show, from the results of ``heavybandits run zoo``.

Run ``python docs/zoo.py zoo`` with the folder that the study was run into.
"""

import sys
from pathlib import Path

import heavybandits as hb
from heavybandits.report.tables import summary_table

COLUMNS = ["instance", "policy", "mean", "se", "failures"]

if __name__ == "__main__":
    table = summary_table(hb.load_study(sys.argv[1]))[COLUMNS]
    table.to_csv(Path(__file__).parent / "_data" / "zoo.csv", index=False, float_format="%.5g")

"""Write the tables of regrets that the pages of policies show, from the results of three studies.

Run ``heavybandits run zoo``, ``heavybandits run linear-zoo`` and ``heavybandits run lipschitz-zoo``, then ``python
docs/zoo.py zoo linear-zoo lipschitz-zoo`` with the folders that they were run into.  Each study has a table in
``docs/_data``, and one study alone may be written again.
"""

import sys
from pathlib import Path

import heavybandits as hb
from heavybandits.report.tables import summary_table

COLUMNS = ["instance", "policy", "mean", "se", "failures"]

if __name__ == "__main__":
    for folder in sys.argv[1:]:
        study = hb.load_study(folder)
        table = summary_table(study)[COLUMNS]
        table.to_csv(Path(__file__).parent / "_data" / f"{study.name}.csv", index=False, float_format="%.5g")

"""The paper's tables and figures on the corpora beside the project: `python -m experiments.NAME`."""

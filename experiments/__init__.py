"""The paper's tables on the corpora beside the project: `python -m experiments.NAME`."""

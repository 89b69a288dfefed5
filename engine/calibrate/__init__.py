"""Which of a target's layers to leave out for drafting, found by measurement: one idea a file.

texts.py has the target answer some prompts; agreement.py says how often a set's drafts would be accepted on them, and
costs.py what drafting costs; search.py looks for the set with the best predicted speed-up; trial.py decodes with the
best few, for the last word; store.py keeps what was found.
"""

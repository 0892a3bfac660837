"""The trust oracle (TOKI): is a correct prediction right for the right reasons?

In: a text subject, its predictions, training texts, and truth about trust where there is some. Out: explanations,
keywords per class, a trust label for every correct prediction, and findings `trust.*` with intervals. Begin with
`oracle.py` (Eq. 5-6), then `keywords.py` (Eq. 1-4); `task.py` binds them, `page.py` shows what comes out.
"""

"""What is read of runs: records, findings and tables go in; pages, comparisons and what the gates say come out.

Begin with records.py, which finds a run and its tables; run_page.py lays out the page of one run, all_nights.py that
of all; gates.py holds gates against a run and gates_for_ci.py writes down what they say, comparison.py sets two runs
side by side.
"""

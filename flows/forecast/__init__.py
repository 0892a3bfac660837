"""What a run will cost: its plan and the records of earlier runs go in, seconds with a range come out.

Begin with plan.py, which walks the plan; cost_model.py holds the arithmetic.
"""

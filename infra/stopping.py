"""How a run that is over ends what is still under way in it.

Apart from `errors.py`: that module's bytes stand in the fingerprint of every rulebook of ours, which imports it.
"""


class Stopped(BaseException):
    """The run is over (interrupted, or broken elsewhere): what its other branches have under way is left as it is.

    No `Exception`, so that nothing on the way takes it for a failure of its own.
    """

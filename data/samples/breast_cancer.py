"""569 real patients: measurements of cell nuclei in breast masses, and whether the mass was malignant."""

import json

import pyarrow as pa


def breast_cancer() -> pa.Table:
    """The Wisconsin diagnostic data as scikit-learn ships it: id, gold, and 30 measurements under their own names.

    >>> table = breast_cancer()
    >>> table.num_rows, table.column_names[:4], table.column("id")[0].as_py()
    (569, ['id', 'gold', 'mean radius', 'mean texture'], 'patient-000')
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    columns = {"id": pa.array([f"patient-{number:03d}" for number in range(len(bunch.target))])}
    columns["gold"] = pa.array(bunch.target, pa.int16())
    for position, name in enumerate(bunch.feature_names):
        columns[str(name)] = pa.array(bunch.data[:, position], pa.float64())
    classes = json.dumps([str(name) for name in bunch.target_names])
    return pa.table(columns).replace_schema_metadata({"classes": classes})

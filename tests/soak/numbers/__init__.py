"""Numbers against truths made elsewhere: enumeration, quadrature, known limits, another precision, another process.

``python -m soak.numbers`` (with tests on the path) runs every case, ``--share 0.01`` a hundredth of them,
``--only NAME`` the rows whose name begins so. It prints a line a row: how many cases, and the worst error in units of
its tolerance.
"""

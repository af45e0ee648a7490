#!/usr/bin/env python3
"""Writes scipy_cases.txt: what SciPy computes of small sparse matrices.

A case: `case ROWS COLUMNS`, triplets in any order (`row`, `column`, `value`; several of one place
are added up), vectors `x` (of the columns) and `z` (of the rows), a line `NAME ...` for each
result, dense matrices row by row; `end`. A symmetric positive definite matrix also has the solution
of A y = z and its extreme eigenvalues.

    python3 make_scipy_cases.py > scipy_cases.txt
"""
import numpy as np
import scipy
import scipy.sparse as sp
import scipy.sparse.linalg as spl

random = np.random.default_rng(19)


def line(name, values):
    print(name, *[repr(float(v)) if float(v) != int(v) else int(v) for v in values])


def write(shape, row, column, value, is_definite=False):
    a = sp.csr_matrix(sp.coo_matrix((value, (row, column)), shape=shape))
    a.sum_duplicates()
    a.sort_indices()
    x = random.integers(-5, 6, shape[1])
    z = random.integers(-5, 6, shape[0])
    print("case", *shape)
    line("row", row)
    line("column", column)
    line("value", value)
    line("x", x)
    line("z", z)
    line("csr_first", a.indptr)
    line("csr_column", a.indices)
    line("csr_value", a.data)
    columns = a.tocsc()
    columns.sort_indices()
    line("csc_first", columns.indptr)
    line("csc_row", columns.indices)
    line("csc_value", columns.data)
    line("dia_offsets", np.unique(a.tocoo().col.astype(int) - a.tocoo().row))
    line("product", a @ x)
    line("transposed_product", a.T @ z)
    line("diagonal", a.diagonal())
    line("row_sums", np.asarray(a.sum(axis=1)).ravel())
    line("scaled_rows", (sp.diags(z) @ a).toarray().ravel())
    line("scaled_columns", (a @ sp.diags(x)).toarray().ravel())
    line("gram", (a @ a.T).toarray().ravel())
    line("twice", (a + a).toarray().ravel())
    if is_definite:
        line("solution", spl.spsolve(a.tocsc(), z.astype(float)))
        eigenvalues = np.linalg.eigvalsh(a.toarray())
        line("extremes", [eigenvalues[0], eigenvalues[-1]])
    print("end")


print(f"# made by make_scipy_cases.py with SciPy {scipy.__version__}, NumPy {np.__version__}")
for shape, count in (((1, 1), 1), ((4, 7), 9), ((7, 4), 12), ((6, 6), 20), ((9, 9), 8), ((5, 8), 40)):
    write(shape, random.integers(0, shape[0], count), random.integers(0, shape[1], count),
          random.integers(1, 9, count))
write((6, 5), [3] * 5, range(5), [1, 2, 3, 4, 5])  # a dense row, the others empty
for n in (5, 12, 30):
    off = sp.coo_matrix(sp.random(n, n, 0.15, random_state=n, data_rvs=lambda k: -np.ones(k)))
    a = sp.coo_matrix(off + off.T + sp.diags(np.full(n, float(n))))
    write((n, n), a.row, a.col, a.data, is_definite=True)

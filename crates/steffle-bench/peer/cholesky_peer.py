"""The Cholesky factor of a matrix by OpenBLAS: prints the CPU seconds of one factorisation."""

import sys
import time

import numpy

size = int(sys.argv[1])
at = numpy.arange(size)
matrix = numpy.sin(at[:, None] * 31.0 + at * 17.0) / size
matrix = numpy.tril(matrix) + numpy.tril(matrix, -1).T + 2.0 * numpy.eye(size)
numpy.linalg.cholesky(matrix)
start = time.process_time()
factor = numpy.linalg.cholesky(matrix)
print(time.process_time() - start)

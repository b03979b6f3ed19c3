//! Arrays of Python as columns of the library: read where they are, in any layout, and never copied as a
//! whole.
//!
//! Training runs on a thread without the interpreter, which is attached to for as long as a column, or a
//! few rows of one, are read. What other threads of Python write into an array meanwhile is read or not,
//! as NumPy itself would read it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use numpy::ndarray::{ArrayView1, s};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use steffle_data::{Cells, Lent, MISSING_LEVEL};

/// The column of an array: of numbers, or of codes where it has levels.
pub(crate) fn lent(array: &Bound<'_, PyAny>, levels: Option<Vec<String>>) -> PyResult<Lent> {
    let kind = || array.getattr("dtype").and_then(|kind| kind.str()?.extract::<String>());
    let unknown = |what: &str| match kind() {
        Ok(kind) => PyTypeError::new_err(format!("an array of {kind} is no array of {what}")),
        Err(_) => PyTypeError::new_err(format!("no array of {what}")),
    };
    match levels {
        None => numbers(array).map(Lent::Numbers).ok_or_else(|| unknown("numbers")),
        Some(levels) => {
            let codes = codes(array, levels.len()).ok_or_else(|| unknown("codes"))?;
            Ok(Lent::Text(codes, levels.into()))
        }
    }
}

/// An array, and how many of its values mean something.
struct Array<T> {
    held: Py<PyArray1<T>>,
    len: usize,
    levels: usize,
}

impl<T: Element + Copy> Array<T> {
    fn new(array: &Bound<'_, PyArray1<T>>, levels: usize) -> Self {
        Self { held: array.clone().unbind(), len: array.len(), levels }
    }

    /// Values of the rows, or of all; `nothing` after the end of the interpreter, when nobody waits for
    /// them any more.
    fn read<V: Clone>(&self, rows: Option<&[u32]>, nothing: V, value: impl Fn(T) -> V) -> Vec<V> {
        let of_range = |cells: ArrayView1<'_, T>, range: Range<usize>| -> Vec<V> {
            cells.slice(s![range]).iter().map(|&cell| value(cell)).collect()
        };
        let of = |cells: ArrayView1<'_, T>| -> Vec<V> {
            match rows {
                None => of_range(cells, 0..cells.len()),
                Some(rows) => match neighbours(rows) {
                    Some(range) => of_range(cells, range),
                    None => rows.iter().map(|&row| value(cells[row as usize])).collect(),
                },
            }
        };
        let read = Python::try_attach(|py| {
            let array = self.held.bind(py);
            match array.try_readonly() {
                Ok(cells) => of(cells.as_array()),
                // Another extension writes into it: as it is now.
                Err(_) => of(array.to_owned_array().view()),
            }
        });
        read.unwrap_or_else(|| vec![nothing; rows.map_or(self.len, <[u32]>::len)])
    }
}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("len", &self.len).finish_non_exhaustive()
    }
}

/// Rows one after the other, if they are.
fn neighbours(rows: &[u32]) -> Option<Range<usize>> {
    let first = *rows.first()?;
    let next = rows.iter().zip(first..).all(|(&row, place)| row == place);
    next.then(|| first as usize..first as usize + rows.len())
}

/// A value that is a number.
trait Number: Element + Copy {
    fn number(self) -> f64;
}

/// A value that is a code, where it is not negative.
trait Code: Element + Copy {
    fn code(self) -> Option<u32>;
}

impl<T: Number> Cells<f64> for Array<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn all(&self) -> Vec<f64> {
        self.read(None, f64::NAN, T::number)
    }

    fn some(&self, rows: &[u32]) -> Vec<f64> {
        self.read(Some(rows), f64::NAN, T::number)
    }
}

impl<T: Code> Array<T> {
    fn codes(&self, rows: Option<&[u32]>) -> Vec<u32> {
        let known = |code: &u32| (*code as usize) < self.levels;
        let code = |cell: T| cell.code().filter(known).unwrap_or(MISSING_LEVEL);
        self.read(rows, MISSING_LEVEL, code)
    }
}

impl<T: Code> Cells<u32> for Array<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn all(&self) -> Vec<u32> {
        self.codes(None)
    }

    fn some(&self, rows: &[u32]) -> Vec<u32> {
        self.codes(Some(rows))
    }
}

macro_rules! cells {
    ($($whole:ty),*; $($real:ty),*) => {
        $(impl Number for $whole {
            // Of 64 bits the nearest, as NumPy's.
            #[allow(clippy::cast_lossless)]
            fn number(self) -> f64 {
                self as f64
            }
        }

        impl Code for $whole {
            fn code(self) -> Option<u32> {
                u32::try_from(self).ok()
            }
        })*

        $(impl Number for $real {
            fn number(self) -> f64 {
                f64::from(self)
            }
        })*

        fn numbers(array: &Bound<'_, PyAny>) -> Option<Arc<dyn Cells<f64>>> {
            $(if let Ok(array) = array.cast::<PyArray1<$real>>() {
                return Some(Arc::new(Array::new(array, 0)));
            })*
            $(if let Ok(array) = array.cast::<PyArray1<$whole>>() {
                return Some(Arc::new(Array::new(array, 0)));
            })*
            None
        }

        fn codes(array: &Bound<'_, PyAny>, levels: usize) -> Option<Arc<dyn Cells<u32>>> {
            $(if let Ok(array) = array.cast::<PyArray1<$whole>>() {
                return Some(Arc::new(Array::new(array, levels)));
            })*
            None
        }
    };
}

cells!(u8, u16, u32, u64, i8, i16, i32, i64; f64, f32);

//! A panic is a mistake in this program: it is said so, in one message, with status 1.

use std::panic::{self, PanicHookInfo};
use std::process;

use crate::failure::{Failure, Status};
use crate::interrupt;
use crate::ui::Output;

/// Replaces the default message and backtrace; unfinished output is removed.
pub(crate) fn report_panics(output: Output<'static>) {
    panic::set_hook(Box::new(move |info| {
        interrupt::abandon();
        output.failure(&Failure::bug(describe(info)));
        process::exit(Status::Bug as i32);
    }));
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
    format!("steffle stopped because of a bug: {what}{}", place.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;

    /// Not a test by itself: the process that `a_panic_is_one_message_and_status_1` starts.
    #[test]
    #[ignore = "run as a child of the test below"]
    fn panicking_process() {
        report_panics(Output::peek(&[]));
        panic!("of all things");
    }

    #[test]
    fn a_panic_is_one_message_and_status_1() {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "bug::tests::panicking_process", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        let said = String::from_utf8(child.stderr).unwrap();
        assert_eq!(child.status.code(), Some(1), "{said}");
        assert!(said.contains("error[steffle::bug]: steffle stopped because of a bug: of all"));
        assert!(said.contains("please report it"));
        assert!(!said.contains("RUST_BACKTRACE"));
    }
}

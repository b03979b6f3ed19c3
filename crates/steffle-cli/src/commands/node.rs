//! `steffle node`: one party of a run, in a process of its own.

use std::io;

use steffle_data::{Job, Site};
use steffle_front::Node;
use steffle_process::serve;

use crate::args::NodeArgs;
use crate::failure::Failure;

pub(crate) fn node(arguments: &NodeArgs) -> Result<(), Failure> {
    let NodeArgs { data, place, together, frame_bytes, .. } = arguments;
    let job = Job::read(data)?;
    let Some(site) = Site::of_job(&job, *place, *together)? else {
        let count = Site::count(&job, *together);
        let message =
            format!("party {place} of {count}; allowed are 0 to {}", count.saturating_sub(1));
        return Err(Failure::usage("node::place", message));
    };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    serve(&mut Node::new(site), &mut input, &mut output, *frame_bytes)
        .map_err(|error| Failure::data("node::frame", error.to_string()))
}

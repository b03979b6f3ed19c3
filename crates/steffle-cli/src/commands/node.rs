//! `steffle node`: one party of a run, in a process of its own.

use std::io;

use steffle_front::Party;

use crate::args::NodeArgs;
use crate::failure::Failure;

pub(crate) fn node(arguments: &NodeArgs) -> Result<(), Failure> {
    let NodeArgs { data, place, together, frame_bytes, .. } = arguments;
    let party =
        Party { job: data.clone(), place: *place, together: *together, frame_bytes: *frame_bytes };
    Ok(party.serve(&mut io::stdin().lock(), &mut io::stdout().lock())?)
}

//! How large messages get: a run whose messages nobody could carry does not begin.

use steffle::model::Classifier;

use crate::Error;
use crate::leaves::Leaves;
use crate::method::Method;
use crate::study::Study;

/// Bytes of the longest messages of a run, rounded up to what their parts can be at most.
///
/// # Why it is no less
/// A number is 8 bytes in a request and 16 in a part of a sum over sites. A request holds at most six
/// vectors of the size of theta (a path question) and per cell k x l combinations and l squares; a
/// reply at most eight such vectors, per cell one more, k x l tables and l sums, and what else leaves in
/// one step, where silos pool a matrix of the features. A letter holds per record id, cell, cap, scores, a slope per output of
/// every layer, hidden units and the encoded row.
struct Legs {
    request: u64,
    reply: u64,
    letter: u64,
}

impl Legs {
    fn of(study: &Study, method: &dyn Method, model: &dyn Classifier, leaves: &[Leaves]) -> Self {
        let (k, l) = (study.classes() as u64, study.labels() as u64);
        let cells = study.notion(&method.aim().notion).cells() as u64;
        let (p, layout) = (model.parameters() as u64, study.schema().layout());
        // What leaves in one step, a pooled matrix for example.
        let matrix = leaves.iter().map(|leaves| leaves.numbers as u64).max().unwrap_or(0);
        let blocks = model.blocks();
        let outputs: u64 = blocks.iter().map(|block| block.outputs as u64).sum();
        let hidden: u64 = blocks.iter().skip(1).map(|block| block.inputs as u64).sum();
        let row = 4 * (layout.numeric + layout.categorical) as u64;
        let record = 18 + 8 * (l + outputs + hidden) + row;
        let largest = study.sizes().into_iter().max().unwrap_or(0) as u64;
        Self {
            request: 1024 + 8 * (6 * p + cells * (k * l + l) + 2 * matrix),
            reply: 1024 + 16 * (8 * p + cells * (k * l + l + p) + matrix),
            letter: if study.is_split() { 1024 + largest * record } else { 0 },
        }
    }
}

/// Refuses a run whose messages are longer than frames may be.
pub(crate) fn carried(
    study: &Study,
    method: &dyn Method,
    model: &dyn Classifier,
    leaves: &[Leaves],
) -> Result<(), Error> {
    let Some(most) = study.frame_bytes() else { return Ok(()) };
    let Legs { request, reply, letter } = Legs::of(study, method, model, leaves);
    let nodes = (study.sizes().len() + study.attributes_holders()) as u64;
    for (what, bytes) in [
        ("all requests of a trip", nodes * request),
        ("all replies of a trip", nodes * reply),
        ("a letter of the largest silo", letter),
    ] {
        if bytes > most {
            let message =
                format!("{what} would have up to {bytes} bytes, and a frame has at most {most}");
            let help = "a smaller model, fewer categories or smaller silos; or a larger `frame_bytes` in \
                        the job and at every site";
            return Err(Error::data("train::frame", message).with_help(help));
        }
    }
    Ok(())
}

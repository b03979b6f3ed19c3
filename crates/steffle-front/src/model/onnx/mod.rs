//! A model as an ONNX file: from raw columns to a label and probabilities, as `predict` does it.
//!
//! Every column is an input of shape `[rows, 1]`: numbers as doubles, NaN where one is missing, names
//! as strings, empty where one is missing. Outputs are `label` (strings) and `probabilities` (doubles,
//! `[rows, labels]` in the order of the labels). Doubles, because a feature is rounded to a grid of
//! 1/4096: a number that a float cannot tell from its neighbour may lie on the other side of a border,
//! and probabilities would differ in the fifth digit.

mod graph;
mod proto;

use steffle::model::Block;
use steffle::record::GRID;
use steffle_data::{Coding, Dialect, FARTHEST};

use self::graph::{Graph, Holds, ML, Value, texts, whole, wholes};
use super::Model;

impl Model {
    /// The model as an ONNX file, operators of version 13 and `ai.onnx.ml` 2. Equal models give equal
    /// bytes.
    pub fn to_onnx(&self) -> Vec<u8> {
        let (schema, layout) = (&self.schema, self.schema.layout());
        let columns = || {
            let numeric = schema.numeric().iter().map(|column| column.name.as_str());
            numeric.chain(schema.categorical().iter().map(|column| column.name.as_str()))
        };
        let mut graph = Graph::new(&columns());
        let (numbers, missing) = self.numbers(&mut graph);
        let codes = self.codes(&mut graph, missing.as_ref());
        let weights = |block: Block| &self.theta[block.offset..][..block.parameters()];
        let [first, later @ ..] = self.classifier.blocks() else { return Vec::new() };
        let rows = Rows { numeric: layout.numeric, numbers, codes };
        let mut scores = rows.scores(&mut graph, *first, weights(*first));
        for &block in later {
            let units = graph.op("Tanh", &[&scores], &[]);
            scores = affine(&mut graph, &units, block, weights(block));
        }
        let probabilities = if self.classifier.logits() == 1 {
            let second = graph.op("Sigmoid", &[&scores], &[]);
            let one = graph.doubles(&[1], &[1.0]);
            let first = graph.op("Sub", &[&one, &second], &[]);
            graph.op("Concat", &[&first, &second], &[whole("axis", 1)])
        } else {
            graph.op("Softmax", &[&scores], &[whole("axis", 1)])
        };
        let attributes = [whole("axis", 1), whole("keepdims", 0)];
        let best = graph.op("ArgMax", &[&probabilities], &attributes);
        let labels = schema.labels();
        let keys = wholes("keys_int64s", 0..labels.len() as u64);
        let names = texts("values_strings", labels.iter().map(String::as_str));
        let label = graph.op_in(ML, "LabelEncoder", &[&best], &[keys, names]);
        let free = |name: &str| {
            let mut name = name.to_owned();
            while columns().any(|column| column == name) {
                name.push('_');
            }
            name
        };
        graph.output(&free("label"), &label, Holds::Text, None);
        let width = Some(labels.len());
        graph.output(&free("probabilities"), &probabilities, Holds::Double, width);
        graph.file(self.metadata().to_map().iter())
    }

    /// The scaled, clipped and rounded numbers of every row, and which of them are missing; nothing without
    /// numeric features.
    fn numbers(&self, graph: &mut Graph) -> (Option<Value>, Option<Value>) {
        let numeric = self.schema.numeric();
        if numeric.is_empty() {
            return (None, None);
        }
        let inputs: Vec<Value> =
            numeric.iter().map(|column| graph.column(&column.name, Holds::Double)).collect();
        let inputs: Vec<&Value> = inputs.iter().collect();
        let raw = graph.op("Concat", &inputs, &[whole("axis", 1)]);
        let missing = graph.op("IsNaN", &[&raw], &[]);
        let all =
            |of: fn(&steffle_data::Numeric) -> f64| numeric.iter().map(of).collect::<Vec<_>>();
        let centres = graph.doubles(&[numeric.len()], &all(|column| column.centre));
        let scales = graph.doubles(&[numeric.len()], &all(|column| column.scale));
        let centred = graph.op("Sub", &[&raw, &centres], &[]);
        let scaled = graph.op("Div", &[&centred, &scales], &[]);
        // Rows are kept as floats, then rounded to the grid, ties to even.
        let short = graph.op("Cast", &[&scaled], &[whole("to", Holds::Float as u64)]);
        let long = graph.op("Cast", &[&short], &[whole("to", Holds::Double as u64)]);
        let ends = [-FARTHEST, FARTHEST].map(|end| graph.doubles(&[], &[f64::from(end)]));
        let long = graph.op("Clip", &[&long, &ends[0], &ends[1]], &[]);
        let grid = graph.doubles(&[1], &[GRID]);
        let steps = graph.op("Div", &[&long, &grid], &[]);
        let steps = graph.op("Round", &[&steps], &[]);
        let rounded = graph.op("Mul", &[&steps, &grid], &[]);
        let mean = graph.doubles(&[1], &[0.0]);
        let numbers = graph.op("Where", &[&missing, &mean, &rounded], &[]);
        (Some(numbers), Some(missing))
    }

    /// The codes of every row, `[rows, categorical]`; nothing without categorical features.
    fn codes(&self, graph: &mut Graph, missing: Option<&Value>) -> Option<Value> {
        let empty = self.schema.dialect(&Dialect::default()).missing_cells();
        let codings = self.schema.codings();
        let place = |name: &str| self.schema.numeric().iter().position(|own| own.name == name);
        let code = |coding: &Coding| match (place(&coding.column), missing) {
            (Some(place), Some(missing)) => {
                let at = graph.wholes(&[1], &[place as u64]);
                let own = graph.op("Gather", &[missing, &at], &[whole("axis", 1)]);
                let yes = graph.wholes(&[1], &[u64::from(coding.missing)]);
                let no = graph.wholes(&[1], &[u64::from(self.schema.layout().absent())]);
                graph.op("Where", &[&own, &yes, &no], &[])
            }
            _ => named(graph, coding, &empty),
        };
        let codes: Vec<Value> = codings.iter().map(code).collect();
        let codes: Vec<&Value> = codes.iter().collect();
        (!codes.is_empty()).then(|| graph.op("Concat", &codes, &[whole("axis", 1)]))
    }
}

/// The code of a column of names. A spelling of a missing value that is a level is that level.
fn named(graph: &mut Graph, coding: &Coding, empty: &[String]) -> Value {
    let input = graph.column(&coding.column, Holds::Text);
    let mut known = coding.known.clone();
    for cell in empty {
        known.entry(cell.clone()).or_insert(coding.missing);
    }
    let attributes = [
        texts("keys_strings", known.keys().map(String::as_str)),
        wholes("values_int64s", known.values().map(|&code| u64::from(code))),
        whole("default_int64", u64::from(coding.unknown)),
    ];
    graph.op_in(ML, "LabelEncoder", &[&input], &attributes)
}

/// Encoded rows in the graph.
struct Rows {
    numeric: usize,
    numbers: Option<Value>,
    codes: Option<Value>,
}

impl Rows {
    /// The first layer: numbers times their weights, plus the weights of what is switched on. As in the
    /// program, the code of nothing points at a row of zeros behind the bias.
    fn scores(&self, graph: &mut Graph, block: Block, weights: &[f64]) -> Value {
        let (width, bias) = (block.outputs, block.inputs * block.outputs);
        let mut sum = graph.doubles(&[1, width], &weights[bias..]);
        if let Some(numbers) = &self.numbers {
            let own = graph.doubles(&[self.numeric, width], &weights[..self.numeric * width]);
            let scores = graph.op("MatMul", &[numbers, &own], &[]);
            sum = graph.op("Add", &[&scores, &sum], &[]);
        }
        if let Some(codes) = &self.codes {
            let padded = [weights, &vec![0.0; width]].concat();
            let table = graph.doubles(&[block.inputs + 2, width], &padded);
            let chosen = graph.op("Gather", &[&table, codes], &[whole("axis", 0)]);
            let axes = graph.wholes(&[1], &[1]);
            let scores = graph.op("ReduceSum", &[&chosen, &axes], &[whole("keepdims", 0)]);
            sum = graph.op("Add", &[&scores, &sum], &[]);
        }
        sum
    }
}

/// A later layer.
fn affine(graph: &mut Graph, inputs: &Value, block: Block, weights: &[f64]) -> Value {
    let (weights, bias) = weights.split_at(block.inputs * block.outputs);
    let weights = graph.doubles(&[block.inputs, block.outputs], weights);
    let bias = graph.doubles(&[1, block.outputs], bias);
    let scores = graph.op("MatMul", &[inputs, &weights], &[]);
    graph.op("Add", &[&scores, &bias], &[])
}

//! `steffle export RUN --format onnx`: the model for other programs.

use serde_json::json;
use steffle_front::Model;

use super::sweep::write;
use crate::args::ExportArgs;
use crate::failure::Failure;
use crate::ui::Output;

pub(crate) fn export(args: &ExportArgs, output: Output) -> Result<(), Failure> {
    let model = Model::load(&args.run)?;
    let bytes = model.to_onnx();
    let target = args.output.clone().unwrap_or_else(|| args.run.join("model.onnx"));
    write(&target, &bytes)?;
    let schema = model.schema();
    let numbers: Vec<&str> = schema.numeric().iter().map(|column| column.name.as_str()).collect();
    let names: Vec<&str> = schema
        .categorical()
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| !numbers.contains(name))
        .collect();
    let value = json!({
        "run": args.run,
        "format": args.format,
        "output": target,
        "bytes": bytes.len(),
        "numbers": numbers,
        "names": names,
        "labels": schema.labels(),
    });
    let text = format!(
        "{} -> {} ({} columns of numbers, {} of names, {} labels)\n",
        args.run.display(),
        target.display(),
        numbers.len(),
        names.len(),
        schema.labels().len()
    );
    output.result(&value, &text)
}

//! Draws the made-up comparison of the tests, to be looked at:
//!
//! ```text
//! cargo run -p steffle-report --example fixture -- DIRECTORY
//! ```

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name a directory for the pictures")?;
    let directory = PathBuf::from(directory);
    fs::create_dir_all(&directory)?;
    let comparison = fixture::comparison();
    for panel in &comparison.panels {
        fs::write(directory.join(format!("{}.svg", panel.id)), steffle_report::svg(panel)?)?;
        fs::write(directory.join(format!("{}.png", panel.id)), steffle_report::png(panel)?)?;
    }
    let page = directory.join("report.html");
    fs::write(&page, steffle_report::html(&comparison)?)?;
    println!("{}", page.display());
    Ok(())
}

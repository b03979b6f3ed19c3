//! Figures and the page as bytes; what a browser makes of them is in `browser.rs`.

mod fixture;

use steffle_report::{Comparison, Panel, html, png, svg};

fn panel() -> Panel {
    fixture::trade_off("adult", 1.0, 0.0)
}

#[test]
fn a_figure_says_what_it_shows_as_text() {
    let panel = panel();
    let file = svg(&panel).unwrap();
    for words in [&panel.title, &panel.x_label, &panel.y_label, "one-shot", "PF-LD (published)"] {
        assert!(file.contains(&format!(">{words}</text>")), "{words}");
    }
    assert!(file.contains("Mean over 15 seeds"), "the caption");
    assert_eq!(file.matches("class=\"curve\"").count(), panel.curves.len());
    let points: usize = panel.curves.iter().map(|curve| curve.points.len()).sum();
    assert_eq!(file.matches("class=\"point\"").count(), points);
    assert!(!file.contains("NaN") && !file.contains("inf"), "no number is missing");
}

#[test]
fn points_beyond_a_limit_are_counted() {
    let mut panel = panel();
    panel.x_limit = Some(18.0);
    let file = svg(&panel).unwrap();
    assert!(file.contains("SteFFLe, 3 points beyond"), "three of its points are above 18 %");
    panel.curves.iter_mut().flat_map(|curve| &mut curve.points).for_each(|point| point.x += 50.0);
    assert!(svg(&panel).unwrap().contains("one-shot: beyond the axes"));
}

#[test]
fn a_panel_without_points_is_a_pair_of_axes() {
    let empty = Panel { curves: Vec::new(), published: Vec::new(), ..panel() };
    assert!(svg(&empty).unwrap().contains("test error (%)"));
    let mut hollow = panel();
    hollow.curves.iter_mut().for_each(|curve| curve.points.clear());
    assert!(png(&hollow).is_ok());
}

#[test]
fn png_files_are_twice_as_large_and_not_blank() {
    let file = png(&panel()).unwrap();
    assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
    let width = u32::from_be_bytes(file[16..20].try_into().unwrap());
    assert_eq!(width, 1280);
    let empty = png(&Panel { curves: Vec::new(), ..panel() }).unwrap();
    assert!(
        file.len() > empty.len() + 10_000,
        "curves take up bytes: {} {}",
        file.len(),
        empty.len()
    );
}

#[test]
fn the_same_comparison_gives_the_same_bytes() {
    assert_eq!(html(&fixture::comparison()), html(&fixture::comparison()));
    assert_eq!(png(&panel()), png(&panel()));
}

#[test]
fn a_comparison_comes_back_from_json_as_it_went_in() {
    let comparison = fixture::comparison();
    let json = serde_json::to_string(&comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), comparison);
}

#[test]
fn the_page_names_no_other_place() {
    let page = html(&fixture::comparison()).unwrap();
    let rest = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!rest.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn what_is_written_cannot_become_markup() {
    let bad = "</script><script>alert(1)</script><!-- \"' & <b>";
    let mut comparison = fixture::comparison();
    (comparison.title, comparison.command) = (bad.into(), bad.into());
    comparison.panels.truncate(1);
    (comparison.panels[0].title, comparison.panels[0].curves[0].label) = (bad.into(), bad.into());
    let page = html(&comparison).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<!--") && !page.contains("<b>"));
    assert_eq!(page.matches("</script>").count(), 2, "only the two of the page itself");
    let json = page.split("id=\"study\">").nth(1).unwrap().split("</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(json).unwrap(), comparison);
}

//! The page in a real browser: what is drawn, what toggles do, what a pointer is told, and that nothing
//! is fetched.
//!
//! Tests that need more than Rust are in a module whose name says what: `cargo xtask check --quick`
//! leaves out all of `needs_`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod devtools;
mod fixture;

/// Its name is the switch.
mod needs_chromium {
    use crate::devtools::Browser;
    use crate::fixture;

    fn open(name: &str) -> Browser {
        Browser::open(name, &steffle_report::html(&fixture::comparison()).unwrap())
    }

    /// Visible elements of a selector.
    fn shown(browser: &mut Browser, selector: &str) -> f64 {
        browser.number(&format!(
        "[...document.querySelectorAll('{selector}')].filter(element => element.getClientRects().length).length"
    ))
    }

    #[test]
    fn every_curve_is_drawn_nothing_is_logged_and_nothing_fetched() {
        let comparison = fixture::comparison();
        let mut browser = open("drawn");
        let curves: usize = comparison.panels.iter().map(|panel| panel.curves.len()).sum();
        assert_eq!(shown(&mut browser, ".panel"), comparison.panels.len() as f64);
        assert_eq!(shown(&mut browser, "figure .curve"), curves as f64);
        assert_eq!(
            shown(&mut browser, "figure .name"),
            3.0 + curves as f64,
            "three published points"
        );
        let text = browser.string("document.body.innerText");
        for expected in [
            &comparison.command,
            &comparison.versions[0],
            &comparison.notes[1],
            "0 to 14",
            "PF-LD (published)",
        ] {
            assert!(text.contains(expected), "{expected} is not on the page");
        }
        assert_eq!(browser.complaints(), Vec::<serde_json::Value>::new());
        let requests = browser.requests();
        assert!(requests.iter().all(|url| url.ends_with("/report.html")), "{requests:?}");
        assert_eq!(requests.len(), 1, "{requests:?}");
    }

    /// Otherwise the test above could pass because nothing is ever seen.
    #[test]
    fn an_error_or_a_fetch_would_be_seen() {
        let mut browser = open("seen");
        browser.value("console.error('here'), fetch('http://127.0.0.1:9/').catch(() => 0)");
        let complaints = browser.complaints();
        let seen = |words: &str| complaints.iter().any(|event| event.to_string().contains(words));
        assert!(seen("here") && seen("Content Security Policy"), "{complaints:?}");
        browser.call("Page.navigate", serde_json::json!({ "url": "http://127.0.0.1:9/" }));
        assert!(browser.requests().iter().any(|url| url.starts_with("http://127.0.0.1:9/")));
    }

    #[test]
    fn toggles_hide_and_show_curves_rows_and_panels() {
        let mut browser = open("toggles");
        let panels = shown(&mut browser, ".panel");
        let curves = shown(&mut browser, "figure .curve");

        browser.click("input[name=method][value=steffle]");
        assert_eq!(
            shown(&mut browser, "[data-method=steffle]"),
            0.0,
            "curves, names and rows are hidden"
        );
        assert_eq!(
            shown(&mut browser, ".panel"),
            panels - 1.0,
            "the panel with no other method too"
        );
        assert_eq!(shown(&mut browser, "figure .curve"), curves - 6.0);
        browser.click("input[name=method][value=steffle]");
        assert_eq!(shown(&mut browser, "figure .curve"), curves);

        browser.click("input[name=epsilon][value='3']");
        assert_eq!(
            shown(&mut browser, "#figure-3 .panel"),
            2.0,
            "the panel of this epsilon is hidden"
        );
        assert_eq!(
            shown(&mut browser, "#figure-2-silos .curve"),
            2.0,
            "and curves of a panel of several"
        );
        browser.click("input[name=epsilon][value='3']");

        browser.click("input[name=data][value=adult]");
        assert_eq!(shown(&mut browser, ".panel[data-data=adult]"), 0.0);
        assert_eq!(shown(&mut browser, ".panel"), panels - 2.0);
        browser.click("input[name=data][value=adult]");

        browser.click("input[name=method][value=published]");
        assert_eq!(shown(&mut browser, ".published"), 0.0);
        browser.click("fieldset:first-of-type button");
        assert_eq!(shown(&mut browser, "figure .curve"), curves, "first everything");
        assert_eq!(shown(&mut browser, "#nothing"), 0.0);
        browser.click("fieldset:first-of-type button");
        assert_eq!(shown(&mut browser, ".panel"), 0.0, "then nothing");
        assert_eq!(shown(&mut browser, "#nothing"), 1.0);
        assert!(browser.complaints().is_empty());
    }

    #[test]
    fn pointer_and_keyboard_show_the_values_of_a_point() {
        let comparison = fixture::comparison();
        let mut browser = open("values");
        assert_eq!(shown(&mut browser, "#tip"), 0.0);
        let pf_ld = &comparison.panels[0].curves[4];
        let point = &pf_ld.points[3];
        browser.point_at(&format!(
            "#{} .wide .curve[data-method=pf-ld] .point[data-index='3']",
            comparison.panels[0].id.replace('.', "\\.")
        ));
        let tip = browser.string("document.getElementById('tip').textContent");
        let expected = format!(
            "PF-LD as published (honest ε 41)\ntest error (%): {:.3} ± {:.3}\n\
         violation (percentage points): {:.2} ± {:.2}\nλ = 0.5, 15 seeds\n\
         honest ε = 41, δ = 1e-9 (claimed ε = 1)",
            point.x,
            point.x_error.unwrap(),
            point.y,
            point.y_error.unwrap()
        );
        assert_eq!(tip, expected);
        assert_eq!(shown(&mut browser, "#tip"), 1.0);
        browser.mouse("mouseMoved", 2.0, 2.0);
        assert_eq!(shown(&mut browser, "#tip"), 0.0, "the pointer has left");

        browser.value("document.querySelector('#theory-epsilon .wide .point').focus()");
        let tip = browser.string("document.getElementById('tip').textContent");
        assert!(tip.contains("ε: 0.1\n"), "{tip}");
        browser.key("ArrowRight", 39);
        let tip = browser.string("document.getElementById('tip').textContent");
        assert!(tip.contains("ε: 0.25\n"), "{tip}");
        browser.key("Escape", 27);
        assert_eq!(shown(&mut browser, "#tip"), 0.0);
        assert!(browser.complaints().is_empty());
    }

    #[test]
    fn data_can_be_taken_from_the_page() {
        let comparison = fixture::comparison();
        let mut browser = open("data");
        let json = browser.string("document.getElementById('study').textContent");
        assert_eq!(serde_json::from_str::<steffle_report::Comparison>(&json).unwrap(), comparison);
        // What a click would save, kept instead of saved.
        browser.value(
        "window.saved = [], URL.createObjectURL = blob => { blob.text().then(text => saved.push(text)); return '#'; }, 0",
    );
        browser.click("[data-save=study]");
        browser.click("#theory-epsilon [data-save=data]");
        browser.click("#theory-epsilon [data-save=picture]");
        browser.value("new Promise(done => setTimeout(done, 50))");
        let saved: Vec<String> = serde_json::from_value(browser.value("window.saved")).unwrap();
        assert_eq!(saved.len(), 3);
        assert_eq!(
            serde_json::from_str::<steffle_report::Comparison>(&saved[0]).unwrap(),
            comparison
        );
        let panel: steffle_report::Panel = serde_json::from_str(&saved[1]).unwrap();
        assert_eq!(panel, *comparison.panels.last().unwrap());
        assert!(saved[2].starts_with("<svg") && saved[2].contains("stationarity gap"));
    }

    /// Of the page at both widths, as the browser lays text out with a font of its own.
    #[test]
    fn names_do_not_overlap_and_nothing_is_cut_off() {
        let mut browser = open("names");
        for width in [1280, 390] {
            browser.size(width, 900, false);
            let faults = browser.value(
            "[...document.querySelectorAll('figure svg')].filter(svg => svg.getClientRects().length).flatMap(svg => { \
             const box = text => text.getBoundingClientRect(); \
             const frame = box(svg), names = [...svg.querySelectorAll('.name text')], faults = []; \
             names.forEach((one, index) => names.slice(index + 1).forEach(other => { const a = box(one), b = box(other); \
               if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3) \
                 faults.push(`${one.textContent} on ${other.textContent}`); })); \
             for (const text of svg.querySelectorAll('text')) { const a = box(text); \
               if (a.left < frame.left || a.right > frame.right || a.top < frame.top || a.bottom > frame.bottom) \
                 faults.push(`${text.textContent} is cut off`); } \
             return faults; })",
        );
            assert_eq!(faults, serde_json::json!([]), "at {width} pixels");
        }
    }

    #[test]
    fn svg_files_are_well_formed() {
        let mut browser = open("well-formed");
        for panel in fixture::comparison().panels {
            let file = serde_json::json!(steffle_report::svg(&panel).unwrap());
            let parse = format!("new DOMParser().parseFromString({file}, 'image/svg+xml')");
            assert_eq!(
                browser.string(&format!("{parse}.documentElement.nodeName")),
                "svg",
                "{}",
                panel.id
            );
            assert_eq!(
                browser.number(&format!("{parse}.querySelectorAll('.curve').length")),
                panel.curves.len() as f64
            );
        }
    }

    #[test]
    fn dark_light_phone_and_paper() {
        let mut browser = open("themes");
        let background = "getComputedStyle(document.body).backgroundColor";
        browser.media("screen", "light");
        assert_eq!(browser.string(background), "rgb(255, 255, 255)");
        browser.media("screen", "dark");
        assert_eq!(browser.string(background), "rgb(23, 25, 28)");
        let ink = "getComputedStyle(document.querySelector('.wide .fill-text')).fill";
        assert_eq!(browser.string(ink), "rgb(236, 236, 236)", "drawings follow");
        browser.media("print", "dark");
        assert_eq!(browser.string(background), "rgb(255, 255, 255)", "paper is white");
        assert_eq!(shown(&mut browser, "#filters"), 0.0);

        browser.media("screen", "light");
        assert_eq!(shown(&mut browser, ".narrow"), 0.0);
        browser.size(390, 844, true);
        assert_eq!(shown(&mut browser, ".wide"), 0.0);
        assert_eq!(
            browser.number("document.documentElement.scrollWidth"),
            390.0,
            "no sideways scrolling"
        );
        let wide = "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg') \
                && e.getBoundingClientRect().right > 390.5).map(e => e.outerHTML.slice(0, 80))";
        assert_eq!(browser.value(wide), serde_json::json!([]));
        browser.click("input[name=method][value=steffle]");
        assert_eq!(shown(&mut browser, ".narrow [data-method=steffle]"), 0.0);
        assert!(browser.complaints().is_empty());
    }

    #[test]
    fn figures_and_tables_are_there_without_scripts() {
        let comparison = fixture::comparison();
        let mut browser = open("static");
        browser.call("Emulation.setScriptExecutionDisabled", serde_json::json!({ "value": true }));
        browser.reload();
        let curves: usize = comparison.panels.iter().map(|panel| panel.curves.len()).sum();
        assert_eq!(shown(&mut browser, "figure .curve"), curves as f64);
        assert_eq!(shown(&mut browser, "#filters, button"), 0.0, "nothing that would not work");
        assert!(
            browser.string("document.querySelector('.point title').textContent").contains("λ = 0")
        );
    }

    /// No table needs scrolling on a laptop or a wide screen, and switches have the curves' names.
    #[test]
    fn tables_fit_wide_screens_and_switches_fit_a_phone() {
        let mut browser = open("widths");
        let clipped = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)\
                       .map(e => `${e.getAttribute('aria-label').slice(0, 60)} ${e.scrollWidth} > ${e.clientWidth}`)";
        for width in [1400, 1920] {
            browser.size(width, 1000, false);
            assert_eq!(browser.value(clipped), serde_json::json!([]), "at {width} pixels");
        }
        let outside = "[...document.querySelectorAll('fieldset, fieldset *')].filter(e => e.getClientRects().length \
                       && e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 60))";
        for width in [390, 320] {
            browser.size(width, 844, true);
            assert_eq!(browser.value(outside), serde_json::json!([]), "at {width} pixels");
        }
        let text = browser.string("document.getElementById('filters').innerText");
        for curve in &fixture::comparison().panels[0].curves {
            assert!(text.contains(&curve.label), "{} is not among {text}", curve.label);
        }
    }

    /// The page of a run, on a phone, a laptop and a wide screen.
    #[test]
    fn the_page_of_a_run_shows_everything_at_every_width() {
        let page = fixture::run();
        let mut browser = Browser::open("run", &steffle_report::run_html(&page).unwrap());
        for (width, phone) in [(390, true), (1400, false), (1920, false)] {
            browser.size(width, 900, phone);
            let wide = format!(
                "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg') && \
                 e.getBoundingClientRect().right > {width}.5).map(e => e.outerHTML.slice(0, 80))"
            );
            assert_eq!(browser.value(&wide), serde_json::json!([]), "at {width} pixels");
            assert_eq!(
                shown(&mut browser, ".bar"),
                (page.measures.len() + page.groups.len()) as f64
            );
            assert_eq!(shown(&mut browser, "figure svg"), page.panels.len() as f64);
            let cut = "[...document.querySelectorAll('figure svg')].filter(svg => svg.getClientRects().length)\
                       .flatMap(svg => { const frame = svg.getBoundingClientRect(); \
                       return [...svg.querySelectorAll('text')].filter(text => { const a = text.getBoundingClientRect(); \
                       return a.left < frame.left || a.right > frame.right; }).map(text => text.textContent); })";
            assert_eq!(browser.value(cut), serde_json::json!([]), "at {width} pixels");
        }
        let text = browser.string("document.body.innerText");
        for words in
            [&page.title, &page.lead, &page.warnings[0], &page.privacy[0], &page.groups[1].name]
        {
            assert!(text.contains(words.as_str()), "{words} is not on the page");
        }
        // The dot of a group stands where its share is: 20 of 25 percent.
        let place = "(() => { const line = document.querySelectorAll('#groups .line')[1].getBoundingClientRect(); \
                     const dot = document.querySelectorAll('#groups .line .dot')[1].getBoundingClientRect(); \
                     return ((dot.left + dot.right) / 2 - line.left) / line.width; })()";
        assert!((browser.number(place) - 0.8).abs() < 0.02);
        assert_eq!(browser.complaints(), Vec::<serde_json::Value>::new());
        assert_eq!(browser.requests().len(), 1);
    }

    /// The page of an audit that found a broken promise: one dot is below the curve.
    fn broken() -> steffle_report::AuditPage {
        let promised = (0..=20).map(|at| f64::from(at) / 20.0);
        let curve = |bend: f64| {
            promised.clone().map(|x: f64| [x, (1.0 - x).powf(bend)]).collect::<Vec<[f64; 2]>>()
        };
        steffle_report::AuditPage {
            title: "Audit of a <method>".into(),
            lead: "The promise is broken: mu is at least 1.4 & 1 is claimed.".into(),
            violation: true,
            facts: vec![("runs".into(), "1000 in each of two worlds".into())],
            numbers: steffle_report::Table {
                title: "What the messages tell about one person".into(),
                columns: ["", "claimed", "estimated", "at least"].map(str::to_owned).to_vec(),
                rows: vec![
                    ["epsilon at delta 1e-5, by mu", "4.3772", "8.1", "7.9"]
                        .map(str::to_owned)
                        .to_vec(),
                ],
                caption: "All bounds hold together with probability 0.999.".into(),
            },
            errors: steffle_report::ErrorCurves {
                promised: curve(2.0),
                measured: curve(4.0),
                most: vec![[0.1, 0.75], [0.5, 0.1]],
            },
            says: vec!["Two worlds differ in the class of one person.".into()],
        }
    }

    /// The page of an audit: both curves, every dot where its shares are, a broken promise in its colour.
    #[test]
    fn the_page_of_an_audit_shows_everything_at_every_width() {
        let page = broken();
        let mut browser = Browser::open("audit", &steffle_report::audit_html(&page).unwrap());
        for (width, phone) in [(390, true), (1400, false)] {
            browser.size(width, 900, phone);
            let wide = format!(
                "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, svg') && \
                 e.getBoundingClientRect().right > {width}.5).map(e => e.outerHTML.slice(0, 80))"
            );
            assert_eq!(browser.value(&wide), serde_json::json!([]), "at {width} pixels");
            assert_eq!(shown(&mut browser, "figure .most circle"), page.errors.most.len() as f64);
            assert_eq!(shown(&mut browser, "figure .promised path"), 1.0);
            assert_eq!(shown(&mut browser, "figure .measured path"), 1.0);
            let cut = "(() => { const svg = document.querySelector('figure svg'), frame = svg.getBoundingClientRect(); \
                       return [...svg.querySelectorAll('text')].filter(text => { const a = text.getBoundingClientRect(); \
                       return a.left < frame.left - .5 || a.right > frame.right + .5; }).map(text => text.textContent); })()";
            assert_eq!(browser.value(cut), serde_json::json!([]), "at {width} pixels");
        }
        // The first dot: a tenth of the way from the left end of the diagonal, three quarters up.
        let place = "(() => { const box = document.querySelector('figure .nothing path').getBoundingClientRect(); \
                     const dot = document.querySelector('figure .most circle').getBoundingClientRect(); \
                     const [x, y] = [(dot.left + dot.right) / 2, (dot.top + dot.bottom) / 2]; \
                     return [(x - box.left) / box.width, (box.bottom - y) / box.height]; })()";
        let place = browser.value(place);
        assert!((place[0].as_f64().unwrap() - 0.1).abs() < 0.01, "{place}");
        assert!((place[1].as_f64().unwrap() - 0.75).abs() < 0.01, "{place}");
        assert_eq!(shown(&mut browser, ".lead.violated"), 1.0);
        let text = browser.string("document.body.innerText");
        for words in
            [&page.title, &page.lead, &page.says[0], &page.numbers.rows[0][0], &page.facts[0].1]
        {
            assert!(text.contains(words.as_str()), "{words} is not on the page");
        }
        assert_eq!(browser.complaints(), Vec::<serde_json::Value>::new());
        assert_eq!(browser.requests().len(), 1);
    }

    #[test]
    fn an_audit_with_shares_that_are_none_is_refused() {
        let mut page = broken();
        page.errors.measured[3][1] = f64::NAN;
        let refused = steffle_report::audit_html(&page).unwrap_err().to_string();
        assert!(refused.contains("measured") && refused.contains("NaN"), "{refused}");
    }
}

use unicode_width::UnicodeWidthStr;

use super::*;

#[test]
fn columns_are_as_wide_as_their_widest_cell() {
    let rows = [["é", "long cell"], ["\u{1b}[1m", ""]].map(|row| row.map(str::to_owned));
    let expected = "NAME       B\né          long cell\n\\u{1b}[1m\n";
    for width in [TableWidth::Whole, TableWidth::Wide, TableWidth::Columns(40)] {
        assert_eq!(table(["NAME", "B"], rows.clone(), width), expected);
    }
}

#[test]
fn values_stand_below_each_other() {
    let text = sheet([
        ("Name", "web".to_owned()),
        ("Last error", "one\r\n  two\n".to_owned()),
        ("Empty", String::new()),
    ]);
    let expected = "Name:        web\nLast error:  one\n               two\nEmpty:\n";
    assert_eq!(text, expected);
}

#[test]
fn the_widest_cells_are_cut_in_the_middle() {
    let rows = [
        [
            "0197a000-0000",
            "a-task-of-a-long-name",
            "2026-02-03 10:15:30",
        ],
        ["0197a000-0001", "web", "2026-02-03 10:15:31"],
    ];
    let rows = rows.map(|row| row.map(str::to_owned));
    let shown = |columns| {
        table(
            ["ID", "TASK", "QUEUED"],
            rows.clone(),
            TableWidth::Columns(columns),
        )
    };
    let expected = "\
ID             TASK        QUEUED
0197a000-0000  a-tas…name  2026-02-03 10:15:30
0197a000-0001  web         2026-02-03 10:15:31
";
    assert_eq!(shown(46), expected);
    let lines = |columns: usize| {
        shown(columns)
            .lines()
            .map(UnicodeWidthStr::width)
            .max()
            .unwrap()
    };
    assert_eq!(
        [lines(57), lines(46), lines(40), lines(30)],
        [57, 46, 40, 30]
    );
    // An id is not cut, and other columns are not less than one character.
    assert_eq!(lines(5), 19);
}

/// Each character of these is not as wide as one column, or is more than one character.
#[test]
fn hostile_text_fits() {
    let texts = [
        "漢字漢字漢字漢字漢字漢字",
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
        "\u{1b}[31m\u{1b}[31m\u{1b}[31m\u{202e}",
        "👩\u{200d}👩\u{200d}👧👩\u{200d}👩\u{200d}👧👩\u{200d}👩\u{200d}👧👩\u{200d}👩\u{200d}👧👩\u{200d}👩\u{200d}👧👩\u{200d}👩\u{200d}👧",
        "a\u{200b}b\u{200b}c\u{200b}d\u{200b}e\u{200b}f\u{200b}g\u{200b}h\u{200b}i\u{200b}j\u{200b}k\u{200b}l",
    ];
    let rows = texts.map(|text| [text.to_owned(), "x".to_owned()]);
    for columns in 8..40 {
        let text = table(["NAME", "B"], rows.clone(), TableWidth::Columns(columns));
        assert_eq!(text.lines().count(), rows.len() + 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        for line in text.lines() {
            assert!(line.width() <= columns, "{columns}: {line}");
            let line = line.trim_end_matches('x').trim_end();
            assert!(
                !line.contains("…\u{301}") && !line.contains("…\u{200d}"),
                "{line}"
            );
        }
        // The second column begins at one place.
        let begins = text
            .lines()
            .skip(1)
            .map(|line| line.trim_end_matches('x').width());
        let begins: std::collections::BTreeSet<usize> = begins.collect();
        assert_eq!(begins.len(), 1, "{text}");
    }
}

#[test]
fn an_id_is_short_as_long_as_it_is_unique() {
    let known = [
        "0197a000-0000-7000-8000-000000000001",
        "0197a000-0000-7000-8000-100000000001",
        "w-1",
        "w-10",
    ];
    let short = |id, least| short_id(id, &known, least);
    assert_eq!(short(known[0], 13), "0197a000-0000-7000-8000-0");
    assert_eq!(short_id(known[0], &known[..1], 13), "0197a000-0000");
    assert_eq!(short("w-10", 2), "w-10");
    assert_eq!(short("w-1", 2), "w-1");
    assert_eq!(short("w-100000", 2), "w-100000", "it is not known");
    assert_eq!(
        short_id("é-1", &["é-1", "è-1"], 1),
        "é",
        "a letter is whole"
    );
}

/// 200 tasks, as `cts task list` shows them.
#[test]
fn two_hundred_tasks_fit_80_and_160_columns() {
    let rows = (0..200).map(|number| {
        let region = ["eu-west-1", "us-east-2", "ap-southeast-1"][number % 3];
        let state = ["successful", "running", "blocked", "never run"][number % 4];
        let services: Vec<String> = (0..number % 7).map(|it| format!("service-{it}")).collect();
        [
            format!("load-balancer-pool-members-{region}-production-{number:03}"),
            state.to_owned(),
            "successful".to_owned(),
            "yes".to_owned(),
            format!("services: {}", services.join(", ")),
            format!("git::https://git.example.com/networking/terraform-modules.git//load-balancers/pool-{}?ref=v1.{number}", number % 5),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let header = ["NAME", "STATE", "STATUS", "ENABLED", "CONDITION", "MODULE"];
    for columns in [80, 160] {
        let text = table(header, rows.clone(), TableWidth::Columns(columns));
        assert!(text.lines().all(|line| line.width() <= columns), "{text}");
        insta::assert_snapshot!(format!("200_tasks_at_{columns}"), text);
    }
}

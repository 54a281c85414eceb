//! `fleet_max_shrink`, the brake of the fleet (`docs/configuration.md#fleet_max_shrink`).

use std::time::Duration;

use cts_core::brake::FleetMaxShrink;

use super::super::{Sandbox, assert_each, assert_problem, assert_problems, only};

const WRITTEN: FleetMaxShrink = FleetMaxShrink {
    share: 30,
    within: Duration::from_mins(5),
    at_least: 20,
};

#[test]
fn the_brake_is_read_from_both_languages_and_merged_over_files() {
    let sandbox = Sandbox::new();
    let brake = |paths: &[&str]| sandbox.load(paths).unwrap().config.fleet_max_shrink;
    sandbox.write("off.json", r#"{"fleet_max_shrink": null, "port": 1}"#);
    assert_eq!(brake(&["off.json"]), None);
    sandbox.write(
        "a.json",
        r#"{"fleet_max_shrink": {"share": "30%", "within": "1m"}}"#,
    );
    sandbox.write("b.hcl", "fleet_max_shrink { within = \"5m\" }");
    assert_eq!(brake(&["a.json", "b.hcl"]), Some(WRITTEN));
    sandbox.write("two.json", r#"{"fleet_max_shrink": [{}]}"#);
    let report = sandbox.refused_files(&["two.json"]);
    let message = only(&report).message();
    assert!(message.contains("must be a single object"), "{message}");
}

#[test]
fn wrong_values_of_the_brake_are_named() {
    let cases = r#"
        share = "0%" #~ "0%" in `fleet_max_shrink.share` is no percentage between "1%" and "100%"
        share = "101%" #~ "101%" in `fleet_max_shrink.share` is no percentage
        share = "20" #~ "20" in `fleet_max_shrink.share` is no percentage
        share = 20 #~ "20" in `fleet_max_shrink.share` is no percentage
        share = "-20%" #~ is no percentage
        share = "+20%" #~ is no percentage
        share = "2.5%" #~ is no percentage
        share = "%" #~ is no percentage
        share = "" #~ is no percentage
        share = ["20%", "30%"] #~ `fleet_max_shrink.share` must be text, not a list
        within = "59s" #~ `fleet_max_shrink.within` must be between 1m and 24h, not 59s
        within = "86401s" #~ must be between 1m and 24h, not 86401s
        within = "2000000h" #~ `fleet_max_shrink.within` must be between 1m and 24h
        within = "99999999999h" #~ `fleet_max_shrink.within` must be a duration
        within = "-10m" #~ must be between 1m and 24h, not -600s
        within = 600 #~ must be between 1m and 24h, not 600ns
        within = "90500ms" #~ `fleet_max_shrink.within` must be whole seconds, not 90.5s
        at_least = 0 #~ `fleet_max_shrink.at_least` must be between 1 and 1000000, not 0
        at_least = -1 #~ must be between 1 and 1000000, not -1
        at_least = 1000001 #~ must be between 1 and 1000000, not 1000001
        at_most = 3 #~ unknown key `at_most` in `fleet_max_shrink`
    "#;
    let block = |content: &str| format!("fleet_max_shrink {{\n{content}\n}}");
    assert_each(cases, block, assert_problem);
    assert_problems(
        "fleet_max_shrink = \"20%\" #~ `fleet_max_shrink` must be a block

         fleet_max_shrink { }
         fleet_max_shrink { share = \"0%\" } #~ only one `fleet_max_shrink` block can be configured",
    );
}

//! `telemetry`: what is measured, and where it goes.

use secrecy::ExposeSecret as _;

use super::super::{assert_problems, config};
use crate::dump;

#[test]
fn headers_for_a_collector_are_hidden() {
    let config = config(
        "telemetry { otlp {
           endpoint = \"https://otlp.example:4317\"
           headers = { Authorization = \"Bearer of-the-collector\" }
         } }",
    );
    let otlp = config.telemetry.otlp.as_ref().unwrap();
    let header = otlp.headers["authorization"].expose_secret();
    assert_eq!(header, "Bearer of-the-collector");
    assert!(!dump(&config).contains("of-the-collector"));
    let is_known = |secret: &secrecy::SecretString| secret.expose_secret() == header;
    assert!(config.secrets().iter().any(is_known));
}

#[test]
fn wrong_settings_are_named() {
    assert_problems(
        "telemetry { listen = \":9464\" } #~ \":9464\" in `telemetry.listen` is no address and port
         telemetry { traces_kept = 101 } #~ traces_kept
         telemetry { otlp {} } #~ needs a `endpoint`
         telemetry { otlp { endpoint = \"http://u:p@a\" } } #~ must not hold a user name

         telemetry {
           otlp {
             endpoint = \"http://a\"
             signals = [\"spans\"] #~ is none of \"metrics\", \"traces\" and \"logs\"
           }
         }

         telemetry {
           otlp {
             endpoint = \"http://a\"
             headers = { \"a b\" = \"c\" } #~ is no header
           }
         }",
    );
}

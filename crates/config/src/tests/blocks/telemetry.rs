//! `telemetry`: what is measured, and where it goes.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::super::{assert_problems, config};
use crate::{OtlpSignals, dump};

#[test]
fn a_collector_gets_metrics_and_traces_with_hidden_headers() {
    let config = config(
        "telemetry {
           listen = \"[::1]:9464\"
           task_names = 0
           traces_kept = 5
           otlp {
             endpoint = \"https://otlp.example:4317\"
             headers = { Authorization = \"Bearer of-the-collector\" }
             interval = \"10s\"
           }
         }",
    );
    let telemetry = &config.telemetry;
    assert_eq!(telemetry.listen.unwrap().to_string(), "[::1]:9464");
    let otlp = telemetry.otlp.as_ref().unwrap();
    assert_eq!(otlp.interval, Duration::from_secs(10));
    let expected = OtlpSignals {
        metrics: true,
        traces: true,
        logs: false,
    };
    assert_eq!(otlp.signals, expected);
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

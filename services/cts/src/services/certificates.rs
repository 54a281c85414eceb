//! The ends of the certificates that this process shows, for its metrics (docs/telemetry.md#certificates).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use cts_config::Config;
use cts_core::Clock;
use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use tokio_util::sync::CancellationToken;

/// Time between two reads of the files.
const EVERY: Duration = Duration::from_mins(1);

/// Stands for a certificate that cannot be read.
const UNREADABLE: i64 = i64::MIN;

/// The certificates of a process.
#[derive(Debug, Default)]
pub(crate) struct Certificates(Vec<Arc<Certificate>>);

#[derive(Debug)]
struct Certificate {
    /// Its peers.
    r#use: &'static str,
    path: PathBuf,
    /// In seconds since 1970.
    not_after: AtomicI64,
}

impl Certificates {
    /// The certificates that the configuration names; `serves_api` if the process has the REST API.
    pub(crate) fn of(config: &Config, serves_api: bool) -> Self {
        let services = config.services.tls.as_ref().map(|tls| tls.cert.clone());
        let api = config.tls.as_ref().filter(|_| serves_api);
        let api = api.map(|tls| tls.cert.clone());
        let path = |text: &String| (!text.is_empty()).then(|| PathBuf::from(text));
        let consul = path(&config.consul.tls.cert);
        let named = [("services", services), ("api", api), ("consul", consul)];
        let certificates = named.into_iter().filter_map(|(r#use, path)| {
            Some(Arc::new(Certificate {
                r#use,
                path: path?,
                not_after: AtomicI64::new(UNREADABLE),
            }))
        });
        Self(certificates.collect())
    }

    /// Whether the process shows no certificate.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Declares the metric.
    pub(crate) fn observe(&self, meter: &Meter, clock: &Arc<dyn Clock>) {
        let (certificates, clock) = (self.0.clone(), Arc::clone(clock));
        meter
            .f64_observable_gauge("cts.certificate.remaining")
            .with_unit("s")
            .with_description(
                "Time to the end of a certificate that this process shows; negative after it.",
            )
            .with_callback(move |observer| {
                let now = clock.now().timestamp();
                for certificate in &certificates {
                    let end = certificate.not_after.load(Ordering::Relaxed);
                    if end != UNREADABLE {
                        let remaining = end.saturating_sub(now);
                        let labels = [KeyValue::new("use", certificate.r#use)];
                        // Exact for millions of years.
                        #[expect(clippy::cast_precision_loss, reason = "a number of seconds")]
                        observer.observe(remaining as f64, &labels);
                    }
                }
            })
            .build();
    }

    /// Reads the files now and once a minute, until `shutdown`.
    pub(crate) async fn follow(self, shutdown: CancellationToken) {
        loop {
            for certificate in &self.0 {
                let read = tokio::fs::read(&certificate.path).await;
                let end = read.ok().and_then(|pem| cts_tls::not_after(&pem));
                let end = end.unwrap_or(UNREADABLE);
                certificate.not_after.store(end, Ordering::Relaxed);
            }
            tokio::select! {
                () = shutdown.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }
}

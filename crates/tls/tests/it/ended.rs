//! Certificates that have ended are not taken over while the ones in force are valid.

use std::fs;
use std::path::PathBuf;

use cts_testkit::Authority;
use cts_tls::{Authorities, IdentityFiles, ServerFiles, ServerTls};

const ENDED: (i32, u8, u8) = (2020, 5, 17);
const ENDED_EARLIER: (i32, u8, u8) = (2019, 1, 1);

struct Folder(tempfile::TempDir);

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, (cert, key): (String, String), authorities: &str) {
        for (name, text) in [
            ("cert.pem", cert.as_str()),
            ("key.pem", &key),
            ("ca.pem", authorities),
        ] {
            fs::write(self.path(name), text).unwrap();
        }
    }

    async fn load(&self) -> ServerTls {
        let files = ServerFiles {
            identity: IdentityFiles {
                cert: self.path("cert.pem"),
                key: self.path("key.pem"),
            },
            clients: Some(Authorities::File(self.path("ca.pem"))),
            protocols: Vec::new(),
        };
        ServerTls::load(files).await.unwrap()
    }
}

#[tokio::test]
async fn an_ended_certificate_replaces_only_an_ended_one() {
    let authority = Authority::new();
    let folder = Folder(tempfile::tempdir().unwrap());
    let valid = || authority.issue(&["localhost"]);
    let ended = |day| authority.issue_until(&["localhost"], day);
    folder.write(valid(), authority.pem());
    let tls = folder.load().await;
    folder.write(ended(ENDED), authority.pem());
    for _again in 0..2 {
        let error = tls.reload().await.unwrap_err();
        assert_eq!(error.path(), Some(&*folder.path("cert.pem")));
        assert!(
            error.to_string().contains("ended at 2020-05-17T00:00:00Z"),
            "{error}"
        );
    }
    folder.write(valid(), authority.pem());
    assert!(tls.reload().await.unwrap());

    folder.write(ended(ENDED_EARLIER), authority.pem());
    let tls = folder.load().await;
    for day in [ENDED, ENDED_EARLIER] {
        folder.write(ended(day), authority.pem());
        assert!(tls.reload().await.unwrap(), "{day:?}");
    }
}

#[tokio::test]
async fn the_authority_that_ends_last_decides() {
    let (old, new) = (Authority::ended_at(ENDED), Authority::new());
    let folder = Folder(tempfile::tempdir().unwrap());
    let pair = new.issue(&["localhost"]);
    folder.write(pair.clone(), new.pem());
    let tls = folder.load().await;
    folder.write(pair.clone(), old.pem());
    let error = tls.reload().await.unwrap_err();
    assert_eq!(error.path(), Some(&*folder.path("ca.pem")));
    folder.write(pair, &[old.pem(), new.pem()].concat());
    assert!(tls.reload().await.unwrap());
}

/// Servers still send roots that have ended, after a certificate that is valid.
#[tokio::test]
async fn certificates_after_the_first_may_have_ended() {
    let authority = Authority::new();
    let folder = Folder(tempfile::tempdir().unwrap());
    let (cert, key) = authority.issue(&["localhost"]);
    folder.write((cert.clone(), key.clone()), authority.pem());
    let tls = folder.load().await;
    let (root, _key) = authority.issue_until(&["root"], ENDED);
    folder.write((cert + &root, key), authority.pem());
    assert!(tls.reload().await.unwrap());
}

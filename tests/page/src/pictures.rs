//! Pictures of the page for the documents.

use std::path::Path;

use tokio::process::Command;

use crate::Browser;

/// Exit code of pngquant if the picture would become larger.
const LARGER: i32 = 98;

/// Names the directory of the pictures, absolute or from the root of the checkout. Without it there are none.
const VARIABLE: &str = "CTS_TEST_SCREENSHOTS";

impl Browser {
    /// Writes `<name>.png`, if the variable `CTS_TEST_SCREENSHOTS` names a directory. With pngquant on the `PATH` the
    /// picture has a palette, which makes it a third as large.
    pub async fn picture(&self, name: &str) {
        let Some(directory) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
            return;
        };
        // Tests run in the directory of their package.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let directory = root.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("{name}.png"));
        self.driver().screenshot(&path).await.unwrap();
        let reduced = Command::new("pngquant")
            .args(["--force", "--skip-if-larger", "--strip", "--output"])
            .arg(&path)
            .arg(&path)
            .status()
            .await;
        if let Ok(status) = reduced {
            assert!(matches!(status.code(), Some(0 | LARGER)), "{status}");
        }
    }
}

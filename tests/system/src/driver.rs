//! The driver of a site's tasks.

/// Where the runs of a site's tasks happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// `driver "terraform"`: on the worker.
    Terraform,
    /// `driver "terraform-cloud"`: on a server.
    TerraformCloud,
}

impl Driver {
    /// Number of attempts of a run whose apply fails each time.
    pub const fn attempts(self) -> usize {
        match self {
            Self::Terraform => 3,
            Self::TerraformCloud => 1,
        }
    }
}

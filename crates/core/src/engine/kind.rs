//! The programs that apply modules for the driver `terraform` (docs/terraform.md#the-executable).

/// The program that applies modules: Terraform or OpenTofu.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EngineKind {
    /// HashiCorp's Terraform.
    #[default]
    Terraform,
    /// OpenTofu, the fork of Terraform.
    OpenTofu,
}

impl EngineKind {
    /// Both engines.
    pub const ALL: [Self; 2] = [Self::Terraform, Self::OpenTofu];

    /// Its name in configurations, also used as the driver in requirements and capabilities: a task for one engine
    /// therefore never runs with the other, in every version of cts.
    pub const fn driver(self) -> &'static str {
        match self {
            Self::Terraform => "terraform",
            Self::OpenTofu => "opentofu",
        }
    }

    /// Its name in messages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Terraform => "Terraform",
            Self::OpenTofu => "OpenTofu",
        }
    }

    /// The default registry of modules and providers.
    pub const fn registry(self) -> &'static str {
        match self {
            Self::Terraform => "registry.terraform.io",
            Self::OpenTofu => "registry.opentofu.org",
        }
    }

    /// File name of the executable.
    pub const fn executable(self) -> &'static str {
        match self {
            Self::Terraform => "terraform",
            Self::OpenTofu => "tofu",
        }
    }

    /// Oldest version that is supported.
    pub const fn oldest(self) -> [u64; 3] {
        match self {
            Self::Terraform => [0, 13, 0],
            Self::OpenTofu => [1, 6, 0],
        }
    }

    /// Newest version that cts is tested with; newer versions are used with a warning.
    pub const fn newest_tested(self) -> [u64; 3] {
        match self {
            Self::Terraform => [1, 14, 3],
            Self::OpenTofu => [1, 12, 6],
        }
    }

    /// The engine with this name in configurations.
    pub fn from_driver(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.driver() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_found_by_its_name_alone() {
        for kind in EngineKind::ALL {
            assert_eq!(EngineKind::from_driver(kind.driver()), Some(kind));
        }
        for other in ["", "tofu", "Terraform", "terraform-cloud"] {
            assert_eq!(EngineKind::from_driver(other), None, "{other}");
        }
        assert_eq!(EngineKind::default().driver(), crate::DEFAULT_DRIVER);
    }
}

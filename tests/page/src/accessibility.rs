//! Checks that hold for each screen: axe-core, and narrow windows.

use cts_testkit::axe_path;
use serde_json::json;

use crate::Browser;

/// Reports the rules of axe-core with serious consequences that the page breaks, each with its elements.
const CHECK: &str = r"
const done = arguments[arguments.length - 1];
const words = violation => `${violation.id} (${violation.impact}): ${violation.help}: ` +
  violation.nodes.slice(0, 5).map(node => `${node.target.join(' ')} ${node.any.map(it => it.message).join(' ')}`).join('; ');
axe.run(document, {resultTypes: ['violations']}).then(
  found => done(found.violations.filter(it => it.impact === 'serious' || it.impact === 'critical').map(words)),
  error => done([String(error)]));
";

/// Lists elements that reach beyond the right edge, if the page can be scrolled sideways. What a part of the page
/// scrolls does not count.
const WIDE: &str = r"
const edge = document.documentElement.clientWidth;
if (document.scrollingElement.scrollWidth <= edge) return [];
const scrolled = element => element && (getComputedStyle(element).overflowX !== 'visible' || scrolled(element.parentElement));
return [...document.querySelectorAll('body *')]
  .filter(element => element.getBoundingClientRect().right > edge + 1 && !scrolled(element.parentElement))
  .slice(0, 8)
  .map(element => `${element.tagName} ${element.id} ${element.className} ${element.getBoundingClientRect().right}`);
";

impl Browser {
    /// Asserts that axe-core finds nothing serious on this page, which `name` names.
    pub async fn assert_accessible(&self, name: &str) {
        if self.run("return typeof axe", &[]).await == "undefined" {
            let script = std::fs::read_to_string(axe_path()).unwrap();
            self.driver().execute(script, []).await.unwrap();
        }
        let broken = self.driver().execute_async(CHECK, []).await.unwrap();
        assert_eq!(*broken.json(), json!([]), "{name}");
    }

    /// Asserts that nobody needs to scroll this page sideways, which `name` names.
    pub async fn assert_fits(&self, name: &str) {
        let wide = self.run(WIDE, &[]).await;
        assert_eq!(wide, json!([]), "{name}");
    }
}

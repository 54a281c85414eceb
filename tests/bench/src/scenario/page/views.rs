//! The page in a browser.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::browser::Browser;
use crate::measures::report::{Metric, median_of_rounds, say};
use crate::played::changes::Changes;

/// Time after the load of a page in which everything belated comes.
const REST: Duration = Duration::from_secs(2);

/// Changes before the heap is measured for the first time, so that all code has run.
const WARM_UP: Duration = Duration::from_secs(8);

/// Runs before the scripts of each document. For loads, each element gets an attribute by which the browser reports when
/// its text is painted first. A script may replace the document, so the beginning of the navigation is kept elsewhere.
const PROBE: &str = r"
if (location.protocol === 'http:') {
  sessionStorage.begun ??= performance.timeOrigin;
  const probe = window.probe = { first: Infinity, painted: 0, longest: 0, requests: 0 };
  const see = (type, take) => new PerformanceObserver(list => list.getEntries().forEach(take))
    .observe({ type, buffered: true });
  for (const type of ['paint', 'largest-contentful-paint', 'element']) {
    see(type, ({ renderTime, startTime }) => {
      probe.first = Math.min(probe.first, renderTime || startTime);
      probe.painted = Math.max(probe.painted, renderTime || startTime);
    });
  }
  see('longtask', ({ duration }) => { probe.longest = Math.max(probe.longest, duration); });
  see('resource', () => { probe.requests += 1; });
  const mark = node => {
    node.setAttribute?.('elementtiming', 'text');
    for (const child of node.children ?? []) mark(child);
  };
  if (!sessionStorage.unmarked) new MutationObserver(changes => changes.forEach(({ addedNodes }) => addedNodes.forEach(mark)))
    .observe(document, { childList: true, subtree: true });
}";

/// What the browser knows about a load.
const LOADED: &str = r"
const entries = ['navigation', 'resource'].flatMap(type => performance.getEntriesByType(type));
const assets = entries.filter(({ name }) => /\.(css|js)$/.test(name));
const documents = entries.filter(({ entryType }) => entryType === 'navigation');
const sum = (list, member) => list.reduce((total, entry) => total + entry[member], 0);
const before = entries.filter(({ startTime }) => startTime <= probe.painted).length;
const painted = performance.timeOrigin + probe.painted - sessionStorage.begun;
delete sessionStorage.begun;
const line = document.getElementById(location.hash.slice(1))?.getBoundingClientRect();
return {
  first: probe.first,
  painted,
  before,
  later: entries.length - before,
  document: sum(documents, 'transferSize'),
  assets: sum(assets, 'transferSize'),
  plain: sum(assets, 'decodedBodySize'),
  is_new: [...documents, ...assets].every(({ transferSize }) => transferSize > 0),
  is_line_shown: line !== undefined && line.top >= 0 && line.bottom <= innerHeight,
};";

/// A task that is long enough to be reported.
const LONG_TASK: &str =
    "setTimeout(() => { for (const begun = performance.now(); performance.now() < begun + 80;); })";

/// Loads of the overview.
pub(super) async fn overview(browser: &Browser, page: &str, loads: u32) -> Result<Vec<Metric>> {
    let probe = json!({"source": PROBE});
    let added = browser.devtools("Page.addScriptToEvaluateOnNewDocument", probe);
    added.await?;
    let mut rounds = Vec::new();
    for _ in 0..loads {
        let loaded = load(browser, page).await?;
        ensure!(loaded["is_new"] == true, "the cache was not empty");
        let number = |name| number(&loaded, name);
        let (document, assets) = (number("document")?, number("assets")?);
        rounds.push(vec![
            Metric::new("visible_p50", number("painted")?, "ms"),
            Metric::new("first_painted_p50", number("first")?, "ms"),
            // The worker makes the request for the stream, which its tab does not know.
            Metric::new("requests", number("before")? + 1.0, "1"),
            Metric::new("requests_later", number("later")?, "1"),
            Metric::new("bytes", document + assets, "B"),
            Metric::new("script_style_bytes", assets, "B"),
            Metric::new("script_style_plain_bytes", number("plain")?, "B"),
        ]);
    }
    Ok(median_of_rounds(&rounds))
}

/// Loads of a run at a line of its log; the line is the id of its element.
pub(super) async fn line(
    browser: &Browser,
    (page, run, line): (&str, &str, &str),
    loads: u32,
) -> Result<Vec<Metric>> {
    let mut rounds = Vec::new();
    for _ in 0..loads {
        let loaded = load(browser, &format!("{page}runs/{run}#{line}")).await?;
        ensure!(loaded["is_line_shown"] == true, "{line} is not shown");
        let painted = number(&loaded, "painted")?;
        rounds.push(vec![Metric::new("line_painted_p50", painted, "ms")]);
    }
    Ok(median_of_rounds(&rounds))
}

/// One page while services change, after loads of other pages of this origin.
pub(super) async fn watched(
    browser: &Browser,
    address: &str,
    prefix: &str,
    (changes, time): (&mut Changes, Duration),
) -> Result<Vec<Metric>> {
    say(&format!("changes before {address}"));
    browser.run("sessionStorage.unmarked = 'yes'").await?;
    browser.go(address).await?;
    browser.run(LONG_TASK).await?;
    changes.measure(WARM_UP).await?;
    let seen = browser.run("return probe").await?;
    let longest = number(&seen, "longest")?;
    ensure!(longest > 0.0, "the browser reports no long tasks");
    let [heap, nodes] = memory(browser).await?;
    browser
        .run("Object.assign(probe, { longest: 0, requests: 0 })")
        .await?;
    changes.measure(time).await?;
    let seen = browser.run("return probe").await?;
    ensure!(number(&seen, "requests")? > 0.0, "the page stands still");
    let [heap_after, nodes_after] = memory(browser).await?;
    let name = |name: &str| format!("{prefix}{name}");
    Ok(vec![
        Metric::new(name("longest_task"), number(&seen, "longest")?, "ms"),
        Metric::new(name("heap"), heap / 1024.0, "KiB"),
        Metric::new(name("heap_growth"), (heap_after - heap) / 1024.0, "KiB"),
        Metric::new(name("nodes"), nodes, "1"),
        Metric::new(name("nodes_growth"), nodes_after - nodes, "1"),
    ])
}

/// Opens an address with an empty cache, and waits until all of it has come.
async fn load(browser: &Browser, address: &str) -> Result<Value> {
    browser.go("about:blank").await?;
    browser
        .devtools("Network.clearBrowserCache", json!({}))
        .await?;
    browser.go(address).await?;
    sleep(REST).await;
    let loaded = browser.run(LOADED).await?;
    say(&loaded.to_string());
    Ok(loaded)
}

/// Bytes of the heap of the page's scripts, and nodes of documents, without garbage.
async fn memory(browser: &Browser) -> Result<[f64; 2]> {
    browser
        .devtools("HeapProfiler.collectGarbage", json!({}))
        .await?;
    let heap = browser.devtools("Runtime.getHeapUsage", json!({})).await?;
    let nodes = browser.devtools("Memory.getDOMCounters", json!({})).await?;
    Ok([number(&heap, "usedSize")?, number(&nodes, "nodes")?])
}

fn number(value: &Value, name: &str) -> Result<f64> {
    let number = value[name].as_f64();
    number.with_context(|| format!("the browser reports no {name}: {value}"))
}

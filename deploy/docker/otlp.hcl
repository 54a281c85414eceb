# Sends traces and metrics to the collector of the profile `observability`: copy this file into config/shared and restart.
telemetry {
  otlp {
    endpoint = "http://collector:4317"
  }
}

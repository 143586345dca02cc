// A kafkajs client that logs in and lists the topics: "node login.js SETTINGS", where the settings are JSON.
// It prints the topics, or the error, as JSON.
'use strict'

const fs = require('fs')
const path = require('path')
const modules = path.join(__dirname, '..', '..', '.cache', 'node', 'node_modules')
const { Kafka, logLevel } = require(path.join(modules, 'kafkajs'))

const settings = JSON.parse(process.argv[2])
const options = { brokers: [settings.bootstrap], logLevel: logLevel.NOTHING, retry: { retries: 0 } }
if (settings.protocol.startsWith('SASL_')) {
  options.sasl = {
    mechanism: settings.mechanism.toLowerCase(), username: settings.user, password: settings.password,
    oauthBearerProvider: async () => ({ value: settings.password }),
  }
}
if (settings.protocol.endsWith('SSL')) options.ssl = { ca: [fs.readFileSync(settings.ca_file)] }
if (settings.certificate_file) options.ssl.cert = options.ssl.key = fs.readFileSync(settings.certificate_file)

async function topics() {
  const admin = new Kafka(options).admin()
  try {
    await admin.connect()
    return await admin.listTopics()
  } finally {
    await admin.disconnect()
  }
}

topics().then(
  names => console.log(JSON.stringify({ topics: names })),
  error => console.log(JSON.stringify({ error: `${error.name} ${error.type || ''} ${error.message}` })),
).finally(() => process.exit(0))

// The kafkajs driver: the far end of drivers/remote.py for Node.
// One JSON request a line on standard input, one JSON answer a line on standard output.
'use strict'

const readline = require('readline')
const path = require('path')
const modules = path.join(__dirname, '..', '..', '.cache', 'node', 'node_modules')
const load = name => require(path.join(modules, name))
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = load('kafkajs')
const snappy = load('snappyjs')
const lz4 = load('lz4js')
const { hash: xxh32 } = load('lz4js/xxh32.js')

const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
const FIRST_XERIAL_BLOCK = 16

function unsnappy(buffer) {
  if (!buffer.subarray(0, 8).equals(XERIAL)) return Buffer.from(snappy.uncompress(buffer))
  const blocks = []
  for (let at = FIRST_XERIAL_BLOCK; at < buffer.length;) {
    const size = buffer.readInt32BE(at)
    blocks.push(Buffer.from(snappy.uncompress(buffer.subarray(at + 4, at + 4 + size))))
    at += 4 + size
  }
  return Buffer.concat(blocks)
}

// Kafka takes only frames whose blocks are independent. lz4js does not set that flag; with a single block (up to 4 MB)
// it is true all the same, so set it and make the header's checksum anew.
function lz4Frame(buffer) {
  const frame = Buffer.from(lz4.compress(buffer))
  frame[4] |= 0x20
  frame[6] = (xxh32(0, frame, 4, 2) >> 8) & 0xff
  return frame
}

const zstd = new Promise(resolve => load('zstd-codec').ZstdCodec.run(codec => resolve(new codec.Simple())))

CompressionCodecs[CompressionTypes.Snappy] = () => ({
  compress: async encoder => Buffer.from(snappy.compress(encoder.buffer)),
  decompress: async buffer => unsnappy(buffer),
})
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4Frame(encoder.buffer),
  decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async buffer => Buffer.from((await zstd).decompress(buffer)),
})
const CODECS = {
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const TOPIC_RESOURCE = 2
const bytes = value => (value === null || value === undefined ? null : { bytes: value.toString('base64') })
const unbytes = value => (value === null ? null : Buffer.from(value.bytes, 'base64'))

function headersOut(headers) {
  return Object.entries(headers || {}).flatMap(([name, values]) =>
    (Array.isArray(values) ? values : [values]).map(value => [name, bytes(value)]))
}

function headersIn(headers) {
  const grouped = {}
  for (const [name, value] of headers) (grouped[name] = grouped[name] || []).push(unbytes(value))
  return Object.fromEntries(Object.entries(grouped).map(([name, all]) => [name, all.length > 1 ? all : all[0]]))
}

const recordOf = (partition, message) => ({
  value: bytes(message.value),
  key: bytes(message.key),
  headers: headersOut(message.headers),
  partition,
  offset: Number(message.offset),
})

class Driver {
  constructor(bootstrap) {
    const retry = { retries: 3, initialRetryTime: 50 }
    this.kafka = new Kafka({ clientId: 'interop', brokers: [bootstrap], logLevel: logLevel.NOTHING, retry })
    this.admin = this.kafka.admin()
    this.ready = this.admin.connect()
    this.members = new Map()
    this.number = 0
  }

  async produce(topic, records, codec) {
    const producer = this.kafka.producer({ retry: { retries: 0 } })
    await producer.connect()
    try {
      const messages = records.map(r => ({
        key: unbytes(r.key), value: unbytes(r.value), headers: headersIn(r.headers), partition: r.partition,
      }))
      await producer.send({ topic, messages, acks: -1, compression: codec ? CODECS[codec] : CompressionTypes.None })
    } finally {
      await producer.disconnect()
    }
    return null
  }

  // kafkajs has no consumer without a group: a group of its own, sought to the offset, does the same.
  async consume(topic, partitions, count, start = 0) {
    const member = await this.join(`consume-${process.pid}-${++this.number}`, topic)
    const { consumer, records } = this.members.get(member)
    if (start > 0) for (const partition of partitions) consumer.seek({ topic, partition, offset: String(start) })
    const until = Date.now() + 30000
    const wanted = () => records.filter(r => r.offset >= start)
    while (wanted().length < count && Date.now() < until) await new Promise(resolve => setTimeout(resolve, 10))
    await this.leave(member)
    return wanted()
  }

  async join(group, topic) {
    const consumer = this.kafka.consumer({ groupId: group, heartbeatInterval: 200, maxWaitTimeInMs: 100 })
    const member = { consumer, records: [], assigned: [] }
    consumer.on(consumer.events.GROUP_JOIN, event => { member.assigned = event.payload.memberAssignment[topic] || [] })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => { member.records.push(recordOf(partition, message)) },
    })
    const name = `member-${++this.number}`
    this.members.set(name, member)
    return name
  }

  async received(name) { return this.members.get(name).records }

  async assigned(name) { return [...this.members.get(name).assigned].sort((a, b) => a - b) }

  async commit(name, topic, partition, offset) {
    await this.members.get(name).consumer.commitOffsets([{ topic, partition, offset: String(offset) }])
    return null
  }

  async leave(name) {
    await this.members.get(name).consumer.disconnect()
    this.members.delete(name)
    return null
  }

  async create_topic(topic, numPartitions, configs) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const made = await this.admin.createTopics({ topics: [{ topic, numPartitions, replicationFactor: 1, configEntries }] })
    if (!made) throw Object.assign(new Error('the topic is there already'), { code: 36 })
    return null
  }

  async delete_topic(topic) {
    await this.admin.deleteTopics({ topics: [topic] })
    return null
  }

  async topics() { return this.admin.listTopics() }

  async partitions(topic) {
    return (await this.admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length
  }

  async add_partitions(topic, count) {
    await this.admin.createPartitions({ topicPartitions: [{ topic, count }] })
    return null
  }

  async topic_config(topic, key) {
    const wanted = { includeSynonyms: false, resources: [{ type: TOPIC_RESOURCE, name: topic, configNames: [key] }] }
    return (await this.admin.describeConfigs(wanted)).resources[0].configEntries[0].configValue
  }

  async set_topic_config(topic, name, value) {
    const resources = [{ type: TOPIC_RESOURCE, name: topic, configEntries: [{ name, value }] }]
    await this.admin.alterConfigs({ validateOnly: false, resources })
    return null
  }

  async groups() { return (await this.admin.listGroups()).groups.map(group => group.groupId) }

  async group(name) {
    const [group] = (await this.admin.describeGroups([name])).groups
    return [group.state, group.members.length]
  }

  async committed(groupId, topic, partition) {
    const [found] = await this.admin.fetchOffsets({ groupId, topics: [topic] })
    return Number(found.partitions.find(entry => entry.partition === partition).offset)
  }

  async delete_group(name) {
    await this.admin.deleteGroups([name])
    return null
  }

  async close() {
    for (const name of [...this.members.keys()]) await this.leave(name)
    await this.admin.disconnect()
    return null
  }
}

function codeOf(error) {
  for (let inner = error; inner; inner = inner.cause || inner.originalError || (inner.errors || [])[0]) {
    if (typeof inner.code === 'number') return inner.code
  }
  return undefined
}

async function main() {
  const driver = new Driver(process.argv[2])
  await driver.ready
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [operation, args] = JSON.parse(line)
    let answer
    try {
      answer = { result: await driver[operation](...args) }
    } catch (error) {
      answer = { code: codeOf(error), error: String(error) }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
}

main()

// BOOTSTRAP SOURCE TARGET GROUP TRANSACTIONAL_ID RECORDS: copies a topic to another, partition by partition, in
// transactions of kafkajs that hold the offsets as well, at most RECORDS in one. It ends when anything fails.
'use strict'

const path = require('path')
const { Kafka, logLevel } = require(path.join(__dirname, '..', '..', '.cache', 'node', 'node_modules', 'kafkajs'))

async function main([bootstrap, source, target, group, transactionalId, records]) {
  const kafka = new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.ERROR, retry: { initialRetryTime: 100 } })
  const producer = kafka.producer({
    transactionalId, idempotent: true, maxInFlightRequests: 1, transactionTimeout: 10000,
  })
  await producer.connect()
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000, heartbeatInterval: 500 })
  await consumer.connect()
  await consumer.subscribe({ topics: [source], fromBeginning: true })

  async function copy(messages, partition) {
    const transaction = await producer.transaction()
    await transaction.send({ topic: target, messages: messages.map(({ value }) => ({ value, partition })) })
    const offset = (BigInt(messages[messages.length - 1].offset) + 1n).toString()
    const topics = [{ topic: source, partitions: [{ partition, offset }] }]
    await transaction.sendOffsets({ consumerGroupId: group, topics })
    await transaction.commit()
  }

  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
      const { messages, partition } = batch
      const most = Number(records)
      for (let at = 0; at < messages.length && isRunning() && !isStale(); at += most) {
        const some = messages.slice(at, at + most)
        try {
          await copy(some, partition)
        } catch (failure) {
          console.error(failure)
          process.exit(1)
        }
        resolveOffset(some[some.length - 1].offset)
        await heartbeat()
      }
    },
  })
  consumer.on(consumer.events.CRASH, () => process.exit(1))
}

main(process.argv.slice(2)).catch(failure => {
  console.error(failure)
  process.exit(1)
})
